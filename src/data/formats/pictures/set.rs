//! Many pictures of one size, from files or out of a zip archive, decoded on all cores.
//!
//! A damaged picture is told and does not stop the others; a sound one of another size does, since
//! there is nothing that could be skipped in good faith. Both depend on the pictures alone, never on
//! the number of threads or the memory: a picture for which there is none stops them all.

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

use rayon::prelude::{
    IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator, ParallelSliceMut,
};

use super::budget::{Budget, Share};
use super::{ColorMode, MOST_PIXELS, Picture, PictureError, Size, WORKING_BYTES};
use crate::data::formats::zip_archive::{Archive, ArchiveReader, Member};
use crate::data::resize::{self, Filter};
use crate::data::{Broken, Catalog, DataError, DataFile, ImageShape, ImageSource};
use crate::numerics::memory;

/// No file with a picture is larger than this.
const MOST_BYTES: u64 = 256 << 20;

/// Every thread may read a file of this size at any time, and keep buffers of it.
const SMALL_FILE: usize = 16 << 20;

/// Pictures by name, in the order in which they are counted.
pub(in crate::data) struct Pictures {
    names: Vec<String>,
    place: Place,
}

enum Place {
    Files(Vec<PathBuf>),
    Archive(Archive, Vec<Member>),
}

impl Pictures {
    /// Takes the files with the wanted names.
    pub(in crate::data) fn in_files<'a>(
        files: impl Iterator<Item = DataFile<'a>>,
        wanted: impl Fn(&str) -> bool,
    ) -> Self {
        let (names, paths) = files
            .filter(|file| wanted(file.name))
            .map(|file| (file.name.to_owned(), file.path.to_owned()))
            .unzip();
        Self { names, place: Place::Files(paths) }
    }

    /// Takes the members of a zip archive with the wanted names, in order of names.
    pub(in crate::data) fn in_archive(
        file: DataFile<'_>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, DataError> {
        let archive = Archive::open(file)?;
        let mut members = archive.members()?;
        members.retain(|member| wanted(&member.name));
        members.sort_by(|a, b| a.name.cmp(&b.name));
        let names = members.iter().map(|member| member.name.clone()).collect();
        Ok(Self { names, place: Place::Archive(archive, members) })
    }

    /// Returns the names, with folders.
    pub(in crate::data) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the name of a picture as it is shown to users.
    pub(in crate::data) fn shown(&self, index: usize) -> String {
        let name = self.names.get(index).map_or("", String::as_str);
        match &self.place {
            Place::Files(_) => name.to_owned(),
            Place::Archive(archive, _) => format!("{}/{name}", archive.name()),
        }
    }

    /// Returns the size of a picture's file, out of its archive; 0 if reading it will fail.
    fn file_size(&self, index: usize) -> u64 {
        let size = match &self.place {
            Place::Files(paths) => {
                let file = paths.get(index).and_then(|path| fs::metadata(path).ok());
                file.map(|file| file.len())
            }
            Place::Archive(archive, members) => {
                members.get(index).map(|member| archive.size(member))
            }
        };
        size.unwrap_or_default().min(MOST_BYTES)
    }

    fn reader(&self) -> Reader<'_> {
        Reader { pictures: self, archive: None, bytes: Vec::new() }
    }
}

/// Reads the bytes of pictures.
struct Reader<'a> {
    pictures: &'a Pictures,
    archive: Option<ArchiveReader<'a>>,
    bytes: Vec<u8>,
}

impl Reader<'_> {
    fn read(&mut self, index: usize) -> Result<&[u8], Failure> {
        let absent = || Failure::Stop(DataError::Unfit(format!("there is no picture {index}")));
        match &self.pictures.place {
            Place::Files(paths) => {
                let path = paths.get(index).ok_or_else(absent)?;
                let name = &self.pictures.names[index];
                let file = File::open(path).map_err(DataError::file(name));
                self.bytes.clear();
                let read = file.and_then(|file| {
                    let read = file.take(MOST_BYTES + 1).read_to_end(&mut self.bytes);
                    read.map_err(DataError::file(name))
                });
                if read.map_err(Failure::Stop)? as u64 > MOST_BYTES {
                    let reason = format!("expected at most {MOST_BYTES} bytes, found more");
                    return Err(broken(DataError::malformed(name, "file", reason)));
                }
            }
            Place::Archive(archive, members) => {
                let member = members.get(index).ok_or_else(absent)?;
                let reader = match &mut self.archive {
                    Some(reader) => reader,
                    none => none.insert(archive.reader().map_err(Failure::Stop)?),
                };
                reader.read(member, MOST_BYTES, &mut self.bytes).map_err(|error| match error {
                    DataError::TooLarge { .. } => Failure::Stop(error),
                    error => broken(error),
                })?;
            }
        }
        Ok(&self.bytes)
    }
}

/// Why a picture was not read.
enum Failure {
    /// The picture is damaged by itself.
    Broken(String),
    /// No picture can be trusted.
    Stop(DataError),
}

fn broken(error: DataError) -> Failure {
    Failure::Broken(error.to_string())
}

/// What is done to pictures of different sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) enum Framing {
    /// They are refused: all pictures have the size of the first.
    Native,
    /// The middle square of each is scaled to this height and width.
    Square(usize),
}

/// What becomes of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) struct DecodeOptions {
    /// The colors that they are given.
    pub(in crate::data) mode: ColorMode,
    /// The size that they are given.
    pub(in crate::data) framing: Framing,
    /// Whether damaged ones are going to be left out.
    pub(in crate::data) skips_broken: bool,
}

/// Pictures that are decoded block by block.
pub(in crate::data) struct PictureSet {
    catalog: Catalog,
    pictures: Pictures,
    options: DecodeOptions,
    shape: ImageShape,
    /// The picture that all others must be as large as.
    first: usize,
    budget: Budget,
}

impl PictureSet {
    /// Reads the header of the first picture or, if broken ones may be skipped, of the first that
    /// has one.
    pub(in crate::data) fn open(
        catalog: Catalog,
        pictures: Pictures,
        options: DecodeOptions,
    ) -> Result<Self, DataError> {
        let mut reader = pictures.reader();
        let mut last = None;
        let mut found = None;
        for index in 0..pictures.names.len() {
            let opened = reader.read(index).and_then(|bytes| {
                let picture = Picture::open(bytes);
                picture
                    .map(|picture| picture.size())
                    .map_err(|damage| name(damage, &pictures, index))
            });
            match opened {
                Ok(size) => {
                    found = Some((index, size));
                    break;
                }
                Err(Failure::Broken(message)) if options.skips_broken => last = Some(message),
                Err(Failure::Broken(message)) => return Err(DataError::Unfit(message)),
                Err(Failure::Stop(error)) => return Err(error),
            }
        }
        drop(reader);
        let (first, Size { height, width }) = found.ok_or_else(|| {
            let last = last.unwrap_or_else(|| "there are none".to_owned());
            DataError::Unfit(format!("no image can be read: {last}"))
        })?;
        let (height, width) = match options.framing {
            Framing::Native => (height, width),
            Framing::Square(side) => (side, side),
        };
        let shape = ImageShape { channels: options.mode.channels(), height, width };
        let budget = Budget::of_this_machine();
        Ok(Self { catalog, pictures, options, shape, first, budget })
    }

    /// Decodes one picture when there is room for it.
    fn decode(
        &self,
        worker: &mut Worker<'_>,
        row: usize,
        pixels: &mut [u8],
    ) -> Result<(), Failure> {
        let mut share = None;
        let outcome = self.decode_within(&mut share, worker, row, pixels);
        // The room goes back before others may take it.
        worker.tidy_up();
        drop(share);
        outcome
    }

    fn decode_within<'a>(
        &'a self,
        share: &mut Option<Share<'a>>,
        worker: &mut Worker<'_>,
        row: usize,
        pixels: &mut [u8],
    ) -> Result<(), Failure> {
        const LARGEST: u64 = MOST_PIXELS as u64 * WORKING_BYTES;
        let Worker { reader, samples, native, square } = worker;
        let mode = self.options.mode;
        let told = |damage| name(damage, &self.pictures, row);
        // How many pixels a large file holds is known only when it has been read.
        let file_size = self.pictures.file_size(row);
        if file_size > SMALL_FILE as u64 {
            *share = Some(self.budget.take(2 * file_size + LARGEST));
        }
        let picture = Picture::open(reader.read(row)?).map_err(told)?;
        let size = picture.size();
        let needed = size.working_bytes();
        share.get_or_insert_with(|| self.budget.take(needed));
        memory::check(needed)
            .map_err(DataError::too_large(format!("decoding {}", self.pictures.shown(row))))
            .map_err(Failure::Stop)?;
        match self.options.framing {
            Framing::Native
                if (size.height, size.width) != (self.shape.height, self.shape.width) =>
            {
                Err(Failure::Stop(self.another_size(row, size)))
            }
            Framing::Native => picture.read(mode, samples, pixels).map_err(told),
            Framing::Square(_) => {
                let channels = mode.channels();
                let from = ImageShape { channels, height: size.height, width: size.width };
                let side = size.height.min(size.width);
                let middle = ImageShape { channels, height: side, width: side };
                native.resize(from.pixels(), 0);
                square.resize(middle.pixels(), 0);
                picture.read(mode, samples, native).map_err(told)?;
                resize::crop(from, native, middle, square);
                resize::resize(middle, square, self.shape, pixels, Filter::Lanczos)
                    .map_err(Failure::Stop)
            }
        }
    }

    fn another_size(&self, row: usize, found: Size) -> DataError {
        let reason = format!(
            "expected {} x {} pixels (height x width), as in {}, found {} x {}: \
             make all images the same size, or set `size`",
            self.shape.height,
            self.shape.width,
            self.pictures.shown(self.first),
            found.height,
            found.width
        );
        DataError::malformed(&self.pictures.shown(row), "header", reason)
    }
}

fn name(damage: PictureError, pictures: &Pictures, index: usize) -> Failure {
    broken(damage.of(&pictures.shown(index)))
}

/// What one thread keeps from one picture to the next.
struct Worker<'a> {
    reader: Reader<'a>,
    samples: Vec<u8>,
    native: Vec<u8>,
    square: Vec<u8>,
}

impl Worker<'_> {
    /// Gives back the room that a large picture took.
    fn tidy_up(&mut self) {
        for buffer in
            [&mut self.reader.bytes, &mut self.samples, &mut self.native, &mut self.square]
        {
            if buffer.capacity() > SMALL_FILE {
                *buffer = Vec::new();
            }
        }
    }
}

impl ImageSource for PictureSet {
    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
        /// Threads take turns of this many, so that each opens the archive a few times only.
        const TURN: usize = 8;
        let size = self.shape.pixels();
        if pixels.len() != rows.len() * size {
            let expected = rows.len() * size;
            return Err(DataError::Length { what: "pixels", expected, found: pixels.len() });
        }
        let this = &*self;
        let worker = || Worker {
            reader: this.pictures.reader(),
            samples: Vec::new(),
            native: Vec::new(),
            square: Vec::new(),
        };
        let outcomes: Vec<Result<(), Failure>> = pixels
            .par_chunks_mut(size.max(1))
            .zip(rows.par_iter())
            .with_min_len(TURN)
            .map_init(worker, |worker, (pixels, &row)| this.decode(worker, row, pixels))
            .collect();
        let mut broken = Vec::new();
        for (position, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(()) => {}
                Err(Failure::Broken(message)) => broken.push(Broken { position, message }),
                Err(Failure::Stop(error)) => return Err(error),
            }
        }
        Ok(broken)
    }
}
