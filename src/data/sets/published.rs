//! Files that the publishers of data sets have put on the net: which bytes they are, and where
//! they lie. The tables stand beside the reader of each data set.

/// A file as its publishers offer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Published {
    /// Its name, unpacked.
    pub name: &'static str,
    /// Its size in bytes, unpacked.
    pub bytes: u64,
    /// Its SHA-256 hash, unpacked, as hexadecimal digits.
    pub sha256: &'static str,
    /// Size and, where known, SHA-256 hash of the gzipped file that the mirrors serve instead.
    pub gzip: Option<(u64, Option<&'static str>)>,
    /// Addresses of the file, or of folders that hold it, which end in a slash.
    pub mirrors: &'static [&'static str],
}

impl Published {
    /// Returns the file's addresses in the order in which they should be tried.
    pub(super) fn addresses(&self) -> Vec<String> {
        let suffix = if self.gzip.is_some() { ".gz" } else { "" };
        let whole = |mirror: &&str| {
            if mirror.ends_with('/') {
                format!("{mirror}{}{suffix}", self.name)
            } else {
                (*mirror).to_owned()
            }
        };
        self.mirrors.iter().map(whole).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_folder_and_the_name_of_what_is_served() {
        let plain = Published {
            name: "a.h5",
            bytes: 1,
            sha256: "",
            gzip: None,
            mirrors: &["https://one.example/", "https://two.example/get?id=3"],
        };
        assert_eq!(plain.addresses(), ["https://one.example/a.h5", "https://two.example/get?id=3"]);
        let packed = Published { gzip: Some((1, None)), ..plain };
        assert_eq!(packed.addresses()[0], "https://one.example/a.h5.gz");
    }
}
