//! The declaration of data sets: it makes the settings that a pipeline can name.

/// Makes [`DatasetSpec`](super::DatasetSpec) and [`FileSet`](super::FileSet), one line for each
/// data set: `Name(module::Settings), "What it is.";`, and with files to download, which are the
/// `FILES` of its module, `Name(module::Settings), "What it is.", files: "What they are.";`.
macro_rules! data_sets {
    ($($name:ident($module:ident::$settings:ident), $doc:literal $(, files: $files:literal)?;)*) => {
        /// The data sets a pipeline can name.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub enum DatasetSpec {
            $(#[doc = $doc] $name($module::$settings),)*
        }

        impl DatasetSpec {
            /// The settings of all data sets, by the names of their types.
            #[cfg(test)]
            const SETTINGS: &'static [&'static str] = &[$(stringify!($settings)),*];

            /// Returns the name of the files that are published of the set, if it reads any.
            pub fn published_files(&self) -> Option<&'static str> {
                if !self.reads_files() {
                    return None;
                }
                match self {
                    $(Self::$name(_) => {
                        None::<&'static str>$(.or(described!($files, Some(stringify!($name)))))?
                    })*
                }
            }

            fn data_set(&self) -> &dyn DataSet {
                match self {
                    $(Self::$name(settings) => settings,)*
                }
            }
        }

        /// The files of a data set, or your own.
        #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
        pub enum FileSet {
            $($(#[doc = $files] $name,)?)*
            /// The weights of the Inception network that FID is defined by.
            FidInception,
            /// Your own files.
            Pinned(Vec<PinnedFile>),
        }

        impl FileSet {
            /// All sets of published files.
            #[cfg(test)]
            const PUBLISHED: &'static [Self] =
                &[$($(described!($files, Self::$name),)?)* Self::FidInception];

            /// Returns the table of published files; your own are in none.
            fn published(&self) -> &'static [Published] {
                match self {
                    $($(Self::$name => described!($files, $module::FILES),)?)*
                    Self::FidInception => FID_INCEPTION,
                    Self::Pinned(_) => &[],
                }
            }
        }
    };
}

/// Returns the item; the description decides whether there is one.
macro_rules! described {
    ($description:literal, $item:expr) => {
        $item
    };
}

pub(super) use {data_sets, described};
