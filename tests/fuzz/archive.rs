//! Any bytes as a zip of pictures, and as a picture.

#![no_main]

use libfuzzer_sys::fuzz_target;
use readers::data::DataSet;
use readers::data::formats::pictures::ColorMode;
use readers::data::sets::image_folder::ImageFolder;
use readers::{laid_out, read_all};

fuzz_target!(|bytes: &[u8]| {
    for name in ["pictures.zip", "picture.png", "picture.jpg", "picture.pgm"] {
        let folder = ImageFolder { channels: ColorMode::Rgb, size: None, skip_broken: true };
        read_all(folder.open(&laid_out(&[(name, bytes)])));
    }
});
