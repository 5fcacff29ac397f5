//! Credentials, from the environment or the usual files alone. They are put into requests and nowhere else.

use std::env;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rusty_s3::Credentials;

use crate::engine::remote::RemoteError;
use crate::engine::system::regular_file;

/// The environment variable of a bearer token for a web server.
pub(super) const TOKEN_VARIABLE: &str = "PCAE_RUN_REMOTE_TOKEN";

/// Files of credentials longer than this are none.
const LONGEST_FILE: u64 = 1 << 20;

/// Something that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// How an S3 service is reached.
#[derive(Debug)]
pub(super) struct S3Settings {
    /// Without, requests are not signed.
    pub(super) credentials: Option<Credentials>,
    pub(super) region: String,
    /// Another service than Amazon's.
    pub(super) endpoint: Option<String>,
}

/// Returns a variable by its name.
type Variables = dyn Fn(&str) -> Option<String>;

/// Where credentials are looked for.
pub(super) struct Environment {
    variable: Box<Variables>,
}

impl Environment {
    /// Looks in the environment of this process.
    pub(super) fn of_process() -> Self {
        #[expect(clippy::disallowed_methods, reason = "credentials, never an input of a stage")]
        let variable = |name: &str| env::var(name).ok();
        Self { variable: Box::new(variable) }
    }

    /// Returns a variable that is not blank.
    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.trim().is_empty())
    }

    /// Returns the file that a variable names, or one below the home folder.
    fn file(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from);
        named.or_else(|| Some(PathBuf::from(self.variable("HOME")?).join(below_home)))
    }

    /// Reads a file that need not be there.
    fn read(path: Option<PathBuf>) -> Result<String, RemoteError> {
        let Some(path) = path else {
            return Ok(String::new());
        };
        match regular_file::read_text(&path, LONGEST_FILE) {
            Ok(text) => Ok(text),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(cause) => Err(RemoteError::Credentials { path, reason: cause.to_string() }),
        }
    }

    /// Returns the `Authorization` header for a web server, if there are credentials for it.
    pub(super) fn web_credentials(&self, host: &str) -> Result<Option<Secret>, RemoteError> {
        if let Some(token) = self.variable(TOKEN_VARIABLE) {
            return Ok(Some(Secret(format!("Bearer {}", token.trim()))));
        }
        let text = Self::read(self.file("NETRC", ".netrc"))?;
        let login = netrc_login(&text, host);
        Ok(login.map(|login| Secret(format!("Basic {}", STANDARD.encode(login)))))
    }

    /// Returns how the S3 service is reached.
    pub(super) fn s3(&self) -> Result<S3Settings, RemoteError> {
        let profile = self.variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let of_file = Self::read(self.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"))?;
        let config = Self::read(self.file("AWS_CONFIG_FILE", ".aws/config"))?;
        let in_config = |name: &str| {
            let section = format!("profile {profile}");
            setting(&config, &section, name).or_else(|| setting(&config, &profile, name))
        };
        let of_environment = self
            .variable("AWS_ACCESS_KEY_ID")
            .zip(self.variable("AWS_SECRET_ACCESS_KEY"))
            .map(|(key, secret)| (key, secret, self.variable("AWS_SESSION_TOKEN")));
        let of_profile = || {
            let value = |name| setting(&of_file, &profile, name).or_else(|| in_config(name));
            let (key, secret) = value("aws_access_key_id").zip(value("aws_secret_access_key"))?;
            Some((key, secret, value("aws_session_token")))
        };
        let credentials =
            of_environment.or_else(of_profile).map(|(key, secret, token)| match token {
                Some(token) => Credentials::new_with_token(key, secret, token),
                None => Credentials::new(key, secret),
            });
        let region = self.variable("AWS_REGION").or_else(|| self.variable("AWS_DEFAULT_REGION"));
        let region = region.or_else(|| in_config("region"));
        let endpoint =
            self.variable("AWS_ENDPOINT_URL_S3").or_else(|| self.variable("AWS_ENDPOINT_URL"));
        Ok(S3Settings {
            credentials,
            region: region.unwrap_or_else(|| "us-east-1".to_owned()),
            endpoint: endpoint.or_else(|| in_config("endpoint_url")),
        })
    }
}

/// Returns `login:password` of a host in a netrc file.
fn netrc_login(text: &str, host: &str) -> Option<String> {
    let mut words = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words: Vec<&str> = words.by_ref().flat_map(str::split_whitespace).collect();
    let mut is_meant = false;
    let (mut login, mut password) = (None, None);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if login.is_some() || password.is_some() {
                    break;
                }
                is_meant = word == "default" || words.next() == Some(host);
            }
            "login" if is_meant => login = words.next(),
            "password" if is_meant => password = words.next(),
            "login" | "password" | "account" => {
                words.next();
            }
            _ => {}
        }
    }
    Some(format!("{}:{}", login?, password?))
}

/// Returns a value of a section of a file of settings.
fn setting(text: &str, section: &str, name: &str) -> Option<String> {
    let mut is_meant = false;
    for line in text.lines().map(str::trim) {
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_meant = title.split_whitespace().eq(section.split_whitespace());
        } else if let Some((key, value)) = line.split_once('=')
            && is_meant
            && key.trim() == name
        {
            return Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn environment(variables: &[(&'static str, String)]) -> Environment {
        let variables = variables.to_vec();
        let find = move |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
        };
        Environment { variable: Box::new(find) }
    }

    #[test]
    fn a_login_is_that_of_its_host() {
        let text = "# comment\nmachine a.lab login me password one\nmachine b.lab\n  login you\n  password two\n\
                    default login any password three\n";
        assert_eq!(netrc_login(text, "a.lab").unwrap(), "me:one");
        assert_eq!(netrc_login(text, "b.lab").unwrap(), "you:two");
        assert_eq!(netrc_login(text, "c.lab").unwrap(), "any:three");
        assert_eq!(netrc_login("machine a.lab login me password one", "c.lab"), None);
    }

    #[test]
    fn the_environment_comes_before_the_profile() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".aws")).unwrap();
        let keys = "[default]\naws_access_key_id = A\naws_secret_access_key = S\n[lab]\naws_access_key_id=B\n\
                    aws_secret_access_key=T\naws_session_token=U\n";
        fs::write(home.path().join(".aws/credentials"), keys).unwrap();
        let config = "[default]\nregion = eu-central-1\n[profile lab]\nregion=us-west-2\nendpoint_url=http://s3.lab\n";
        fs::write(home.path().join(".aws/config"), config).unwrap();
        let home = ("HOME", home.path().display().to_string());
        let of = |more: &[(&'static str, String)]| {
            environment(&[std::slice::from_ref(&home), more].concat()).s3().unwrap()
        };
        let key = |settings: &S3Settings| settings.credentials.clone().unwrap().key().to_owned();
        let default = of(&[]);
        assert_eq!((key(&default).as_str(), default.region.as_str()), ("A", "eu-central-1"));
        let lab = of(&[("AWS_PROFILE", "lab".to_owned())]);
        assert_eq!((key(&lab).as_str(), lab.region.as_str()), ("B", "us-west-2"));
        assert_eq!(lab.endpoint.as_deref(), Some("http://s3.lab"));
        let own = of(&[
            ("AWS_ACCESS_KEY_ID", "C".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "V".to_owned()),
            ("AWS_REGION", "x".to_owned()),
        ]);
        assert_eq!((key(&own).as_str(), own.region.as_str()), ("C", "x"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let environment = environment(&[(TOKEN_VARIABLE, "hunter2".to_owned())]);
        let secret = environment.web_credentials("h").unwrap().unwrap();
        assert_eq!(secret.0, "Bearer hunter2");
        assert!(!format!("{secret:?}").contains("hunter2"));
    }
}
