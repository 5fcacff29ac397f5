//! A bundle that somebody else made: taken only as a whole, and only if every byte is accounted for.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::archive::{Archive, MemberReader};
use super::bounds::{LARGEST_INVENTORY, LARGEST_TEXT};
use super::error::{BundleError, Problem};
use super::inventory::{About, INVENTORY, Inventory, ListedFile};
use super::layout::Member;
use crate::engine::digest::ContentDigest;
use crate::engine::remote::Trust;
use crate::engine::remote::signed_manifest::SignedManifest;
use crate::engine::system::{parallel, regular_file};

/// A bundle whose structure and inventory have been checked.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    archive: Archive,
    /// Positions in the archive.
    by_name: BTreeMap<String, usize>,
    signed: SignedManifest,
    inventory: Inventory,
}

impl Bundle {
    /// Opens a bundle if its structure is right and somebody vouches for it who is trusted.
    pub fn open(path: &Path, trust: &Trust) -> Result<Self, BundleError> {
        Self::check(path, trust).map_err(|problem| problem.of(path))
    }

    fn check(path: &Path, trust: &Trust) -> Result<Self, Problem> {
        let archive = Archive::open(regular_file::open(path)?)?;
        let members = archive.members();
        let first = members.first().filter(|first| first.name == INVENTORY);
        let Some(first) = first else {
            return Problem::refused(format!("its first file is not `{INVENTORY}`"));
        };
        let text = read_all(&archive, first, LARGEST_INVENTORY)?;
        let Some(signed) = SignedManifest::parse(&text) else {
            return Problem::refused("its inventory is damaged");
        };
        if let Err(why) = trust.check_signature(&signed) {
            return Problem::refused(format!("it {why}"));
        }
        let inventory = Inventory::parse(signed.body())?;
        compare(&members[1..], &inventory.files)?;
        let names = members.iter().enumerate();
        let by_name = names.map(|(at, member)| (member.name.clone(), at)).collect();
        let path = path.to_owned();
        Ok(Self { path, archive, by_name, signed, inventory })
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what it is about.
    pub fn about(&self) -> &About {
        &self.inventory.about
    }

    /// Returns all files but the inventory, sorted by name.
    pub fn files(&self) -> &[ListedFile] {
        &self.inventory.files
    }

    /// Returns by whom the inventory says to be signed, with all signatures that count.
    pub fn signed(&self) -> &SignedManifest {
        &self.signed
    }

    /// Returns the size of all files when they are unpacked.
    pub fn bytes(&self) -> u64 {
        self.files().iter().map(|file| file.bytes).sum()
    }

    /// Returns a file by name.
    pub fn file(&self, name: &str) -> Option<&ListedFile> {
        // The inventory itself is none.
        self.by_name.get(name)?.checked_sub(1).map(|at| &self.files()[at])
    }

    /// Reads every file and compares it with its digest.
    pub fn verify(&self) -> Result<(), BundleError> {
        let check = |file: &ListedFile| -> Result<(), Problem> {
            if digest(&mut self.source(file)?)? == file.digest {
                return Ok(());
            }
            Problem::refused(format!(
                "`{}` does not have the digest that the inventory says",
                file.name.escape_debug()
            ))
        };
        let checked = parallel::map(self.files(), check).into_iter();
        checked.collect::<Result<Vec<()>, _>>().map(drop).map_err(|problem| problem.of(&self.path))
    }

    /// Opens a file.
    pub fn reader(&self, file: &ListedFile) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.source(file)?))
    }

    /// Reads a whole file of moderate size, and makes sure that it has its digest.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, BundleError> {
        let read = || {
            let Some(file) = self.file(name) else {
                return Problem::refused(format!("it has no file `{name}`"));
            };
            let member = &self.archive.members()[self.by_name[name]];
            let bytes = read_all(&self.archive, member, LARGEST_TEXT)?;
            if ContentDigest::of_bytes(&bytes) == file.digest {
                return Ok(bytes);
            }
            Problem::refused(format!("`{name}` does not have the digest that the inventory says"))
        };
        read().map_err(|problem| problem.of(&self.path))
    }

    /// Says that something in the bundle is not as it should be.
    pub fn refused(&self, what: impl Into<String>) -> BundleError {
        BundleError::Refused { path: self.path.clone(), what: what.into() }
    }

    fn source(&self, file: &ListedFile) -> io::Result<MemberReader<'_>> {
        let at = self.by_name.get(&file.name);
        let at = at.ok_or_else(|| io::Error::other("it is not in the bundle"))?;
        Ok(self.archive.reader(&self.archive.members()[*at]))
    }
}

/// Makes sure that the inventory lists what is there.
fn compare(members: &[Member], files: &[ListedFile]) -> Result<(), Problem> {
    for (member, file) in members.iter().zip(files) {
        let (own, listed) = (member.name.escape_debug(), file.name.escape_debug());
        if member.name != file.name {
            return Problem::refused(format!("it has `{own}` where its inventory has `{listed}`"));
        }
        if member.bytes != file.bytes {
            let bytes = file.bytes;
            return Problem::refused(format!(
                "`{own}` does not have the {bytes} bytes of the inventory"
            ));
        }
    }
    if let Some(member) = members.get(files.len()) {
        let name = member.name.escape_debug();
        return Problem::refused(format!("`{name}` is not in its inventory"));
    }
    if let Some(file) = files.get(members.len()) {
        let name = file.name.escape_debug();
        return Problem::refused(format!("`{name}` is in its inventory, but not there"));
    }
    if files.is_sorted_by(|a, b| a.name < b.name) {
        return Ok(());
    }
    Problem::refused("its files are not in order of their names")
}

fn read_all(archive: &Archive, member: &Member, most: u64) -> Result<Vec<u8>, Problem> {
    if member.bytes > most {
        let (name, bytes) = (member.name.escape_debug(), member.bytes);
        return Problem::refused(format!("`{name}` has {bytes} bytes, more than {most}"));
    }
    let mut bytes = Vec::new();
    archive.reader(member).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn digest(reader: &mut impl Read) -> io::Result<ContentDigest> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(reader)?;
    Ok(ContentDigest::of_hash(hasher.finalize()))
}
