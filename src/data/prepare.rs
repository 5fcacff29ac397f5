//! From a source to the samples that a stage leaves: rows are chosen, pixels read, steps done.
//!
//! Images go through in blocks and straight on to a sink, so that memory holds a block and never
//! the whole set.

use std::collections::BTreeMap;

use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

use super::images::unit;
use super::rows::{self, Choice, Division};
use super::steps::{self, PixelSteps, Step};
use super::{
    Annotations, Catalog, Content, DataError, ImageShape, ImageSource, Samples, Split, Vectors,
};
use crate::numerics::{Points, memory};

/// Bytes of finished images that are held at a time.
const MOST_FINISHED: usize = 64 << 20;

/// What is to be done with a source.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// Which part of the set; all of it if left out.
    pub split: Option<Split>,
    /// How the parts are made.
    pub division: Option<&'a Division>,
    /// Which samples of that, by factor or class.
    pub select: &'a BTreeMap<String, Choice>,
    /// What is done to the samples.
    pub steps: &'a [Step],
    /// What happens to images that can't be decoded.
    pub broken: BrokenPolicy,
    /// The data that scales are measured on; the samples themselves if left out.
    pub like: Option<&'a Points>,
}

/// What happens to images that can't be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenPolicy {
    /// The first one ends it.
    Fail,
    /// They are left out and told.
    Skip,
}

/// Takes finished images in order.
pub trait ImageSink {
    /// Is told the shape of all images and how many there may be, once, before the first.
    fn begin(&mut self, shape: ImageShape, most: usize) -> Result<(), DataError>;

    /// Takes the pixels of one or more images.
    fn push(&mut self, pixels: &[u8]) -> Result<(), DataError>;

    /// Puts all images into another order, after the last: first the one at the first of these
    /// places.
    fn reorder(&mut self, places: &[usize]) -> Result<(), DataError>;
}

/// Keeps finished pixels in memory, for tests.
#[cfg(test)]
impl ImageSink for Vec<u8> {
    fn begin(&mut self, shape: ImageShape, most: usize) -> Result<(), DataError> {
        self.reserve_exact(shape.pixels() * most);
        Ok(())
    }

    fn push(&mut self, pixels: &[u8]) -> Result<(), DataError> {
        self.extend_from_slice(pixels);
        Ok(())
    }

    fn reorder(&mut self, places: &[usize]) -> Result<(), DataError> {
        let size = self.len() / places.len();
        *self = places.iter().flat_map(|place| &self[place * size..][..size]).copied().collect();
        Ok(())
    }
}

/// What came out.
#[derive(Debug)]
pub enum Prepared {
    /// Images, which the sink has.
    Images {
        /// Their shape.
        shape: ImageShape,
        /// Their number.
        count: usize,
        /// What is known of them.
        annotations: Annotations,
        /// Their published parts, if they are not split yet.
        partition: Option<Vec<Split>>,
        /// What was left out, one line each.
        skipped: Vec<String>,
    },
    /// Vectors.
    Vectors {
        /// The vectors.
        vectors: Vectors,
        /// Their published parts, if they are not split yet.
        partition: Option<Vec<Split>>,
        /// What was left out, one line each.
        skipped: Vec<String>,
    },
}

/// Does all that a recipe says.
pub fn prepare(
    samples: Samples,
    recipe: &Recipe<'_>,
    sink: &mut dyn ImageSink,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<Prepared, DataError> {
    let content = match &samples {
        Samples::Images(_) => Content::Images,
        Samples::Vectors(..) => Content::Vectors,
    };
    if let Some(problem) = steps::step_problem(content, recipe.steps) {
        return Err(DataError::Unfit(problem));
    }
    match samples {
        Samples::Images(mut source) if steps::flatten(recipe.steps) => {
            let mut points = PointSink::default();
            let read = stream(source.as_mut(), recipe, &mut points, on_progress)?;
            let points = points.finish();
            let after = recipe.steps.iter().skip_while(|step| **step != Step::Flatten);
            let points = scaled(points, after, recipe.like)?;
            let vectors = Vectors::new(points, read.annotations)?;
            Ok(Prepared::Vectors { vectors, partition: read.partition, skipped: read.skipped })
        }
        Samples::Images(mut source) => {
            let Read { shape, count, annotations, partition, skipped } =
                stream(source.as_mut(), recipe, sink, on_progress)?;
            Ok(Prepared::Images { shape, count, annotations, partition, skipped })
        }
        Samples::Vectors(vectors, partition) => {
            let (vectors, partition) = choose_vectors(vectors, partition, recipe)?;
            on_progress(vectors.points().rows() as u64, vectors.points().rows() as u64);
            Ok(Prepared::Vectors { vectors, partition, skipped: Vec::new() })
        }
    }
}

fn chosen_rows(catalog: &Catalog, recipe: &Recipe<'_>) -> Result<Vec<usize>, DataError> {
    if catalog.count == 0 {
        return Err(DataError::Unfit("this data set has no samples".to_owned()));
    }
    let rows = match recipe.split {
        Some(split) => rows::part(catalog, split, recipe.division)?,
        None => (0..catalog.count).collect(),
    };
    let rows = rows::select(catalog, rows, recipe.select)?;
    let rows = recipe.steps.iter().try_fold(rows, |rows, step| step.choose(rows))?;
    if rows.len() < 2 { Err(too_few(rows.len())) } else { Ok(rows) }
}

/// Says that a sample alone is no data set.
fn too_few(samples: usize) -> DataError {
    let left = match samples {
        0 => "none is",
        _ => "only 1 is",
    };
    DataError::Unfit(format!(
        "a data set needs at least 2 samples, but {left} left: select more of them"
    ))
}

struct Read {
    shape: ImageShape,
    count: usize,
    annotations: Annotations,
    partition: Option<Vec<Split>>,
    skipped: Vec<String>,
}

/// Returns the published parts of rows that are not split yet.
fn parts_of(catalog: &Catalog, rows: &[usize], recipe: &Recipe<'_>) -> Option<Vec<Split>> {
    let partition = catalog.partition.as_ref().filter(|_| recipe.split.is_none())?;
    Some(rows.iter().map(|&row| partition[row]).collect())
}

fn stream(
    source: &mut dyn ImageSource,
    recipe: &Recipe<'_>,
    sink: &mut dyn ImageSink,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<Read, DataError> {
    let chosen = chosen_rows(source.catalog(), recipe)?;
    let mut rows = chosen.clone();
    rows.sort_unstable();
    let steps = PixelSteps::new(source.shape(), recipe.steps)?;
    let (size, finished_size) = (source.shape().pixels(), steps.shape().pixels());
    let total = rows.len() as u64;
    let mut skipped = Vec::new();
    let mut kept = Vec::with_capacity(rows.len());
    let mut varies = Varies::default();
    let block = source.block().min(MOST_FINISHED / finished_size.max(1)).max(1);
    let held = block.min(rows.len());
    let needed = held.saturating_mul(size.saturating_add(finished_size));
    memory::check_values::<u8>(needed).map_err(DataError::too_large(format!(
        "reading images of {} pixels, {held} at a time,",
        source.shape()
    )))?;
    let mut buffer = vec![0; held * size];
    sink.begin(steps.shape(), rows.len())?;
    for block in rows.chunks(block) {
        let pixels = &mut buffer[..block.len() * size];
        let broken = source.read(block, pixels)?;
        if let (Some(first), BrokenPolicy::Fail) = (broken.first(), recipe.broken) {
            return Err(DataError::Unfit(format!(
                "{}: fix or remove it, or set `skip_broken: true`",
                first.message
            )));
        }
        let whole: Vec<usize> = (0..block.len())
            .filter(|position| !broken.iter().any(|broken| broken.position == *position))
            .collect();
        skipped.extend(broken.into_iter().map(|broken| broken.message));
        let image = |position: usize| &pixels[position * size..(position + 1) * size];
        if steps.is_empty() && whole.len() == block.len() {
            varies.see(pixels, size);
            sink.push(pixels)?;
        } else {
            let images: Result<Vec<_>, _> =
                whole.par_iter().map(|&position| steps.apply(image(position))).collect();
            for finished in images? {
                varies.see(&finished, finished_size);
                sink.push(&finished)?;
            }
        }
        kept.extend(whole.iter().map(|&position| block[position]));
        on_progress((kept.len() + skipped.len()) as u64, total);
    }
    varies.check("images")?;
    rows = kept;
    if !chosen.is_sorted() {
        let places: Vec<usize> =
            chosen.iter().filter_map(|row| rows.binary_search(row).ok()).collect();
        sink.reorder(&places)?;
        rows = places.into_iter().map(|place| rows[place]).collect();
    }
    let annotations = source.catalog().annotations.of(&rows);
    let partition = parts_of(source.catalog(), &rows, recipe);
    Ok(Read { shape: steps.shape(), count: rows.len(), annotations, partition, skipped })
}

fn choose_vectors(
    vectors: Vectors,
    partition: Option<Vec<Split>>,
    recipe: &Recipe<'_>,
) -> Result<(Vectors, Option<Vec<Split>>), DataError> {
    let (points, annotations, coordinates, notes) = vectors.into_parts();
    let catalog = Catalog { count: points.rows(), annotations, partition };
    let rows = chosen_rows(&catalog, recipe)?;
    let points = if rows.is_sorted() { points.keep(&rows) } else { points.at(&rows) };
    let points = scaled(points, recipe.steps.iter(), recipe.like)?;
    let mut varies = Varies::default();
    varies.see(points.values(), points.width());
    varies.check("vectors")?;
    let chosen = Vectors::new(points, catalog.annotations.of(&rows))?;
    let chosen = chosen.with_coordinates(coordinates).with_notes(notes);
    Ok((chosen, parts_of(&catalog, &rows, recipe)))
}

fn scaled<'a>(
    mut points: Points,
    steps: impl Iterator<Item = &'a Step>,
    like: Option<&Points>,
) -> Result<Points, DataError> {
    // What a scale is measured on goes through the same scales before it.
    let mut like = like.cloned();
    for step in steps {
        match step {
            Step::Scale(scale) => {
                let measured = like.as_ref().unwrap_or(&points);
                if measured.width() != points.width() {
                    return Err(DataError::Unfit(format!(
                        "the data of `like` has {} coordinates, these samples have {}",
                        measured.width(),
                        points.width()
                    )));
                }
                let scaling = steps::Scaling::measured(scale, measured);
                points = scaling.apply(points)?;
                like = like.map(|like| scaling.apply(like)).transpose()?;
            }
            // None of these changes vectors; pixel steps were done before, or refused.
            Step::First(_)
            | Step::Subset { .. }
            | Step::Shuffle { .. }
            | Step::Crop(_)
            | Step::Pad(_)
            | Step::Resize { .. }
            | Step::Flatten => {}
        }
    }
    Ok(points)
}

/// Notices data in which every sample is the same, from which nothing can be learned.
#[derive(Default)]
struct Varies<T> {
    first: Vec<T>,
    count: usize,
    differ: bool,
}

impl<T: Copy + PartialEq> Varies<T> {
    fn see(&mut self, values: &[T], size: usize) {
        let mut samples = values.chunks_exact(size.max(1));
        if self.first.is_empty() {
            self.first = samples.clone().next().unwrap_or_default().to_vec();
        }
        self.count += values.len() / size.max(1);
        self.differ = self.differ || samples.any(|sample| sample != self.first);
    }

    fn check(&self, what: &str) -> Result<(), DataError> {
        if self.count < 2 {
            return Err(too_few(self.count));
        }
        if !self.differ {
            return Err(DataError::Unfit(format!(
                "all {} {what} are identical, so there is nothing to learn from them",
                self.count
            )));
        }
        Ok(())
    }
}

/// Collects images as points.
#[derive(Default)]
struct PointSink {
    width: usize,
    values: Vec<f32>,
    /// The places of the points in their final order, if it is another one.
    order: Option<Vec<usize>>,
}

impl PointSink {
    fn finish(self) -> Points {
        let points = Points::from_rows(self.width, self.values);
        match self.order {
            Some(order) => points.at(&order),
            None => points,
        }
    }
}

impl ImageSink for PointSink {
    fn begin(&mut self, shape: ImageShape, most: usize) -> Result<(), DataError> {
        self.width = shape.pixels();
        let room = memory::room_for(self.width.saturating_mul(most));
        self.values = room.map_err(|size| DataError::TooLarge {
            what: format!("{most} images of {shape} pixels as vectors"),
            size,
            advice: "leave out `Flatten`, or keep fewer with `First` or `Subset`",
        })?;
        Ok(())
    }

    fn push(&mut self, pixels: &[u8]) -> Result<(), DataError> {
        self.values.extend(pixels.iter().map(|&pixel| unit(pixel)));
        Ok(())
    }

    fn reorder(&mut self, places: &[usize]) -> Result<(), DataError> {
        self.order = Some(places.to_vec());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::data::{Broken, Factors};
    use crate::numerics::Seed;
    use crate::numerics::memory::pretended::with_available;

    /// Seven images of two pixels that hold their row; the third is damaged; two in a block.
    struct Rows {
        catalog: Catalog,
        asked: Vec<usize>,
        damaged: Option<usize>,
    }

    impl Rows {
        fn new(damaged: Option<usize>) -> Self {
            let factors = Factors {
                names: vec!["row".into()],
                values: (0..7).map(|row| row as f32).collect(),
            };
            let annotations = Annotations { factors, classes: None };
            let catalog = Catalog { count: 7, annotations, partition: None };
            Self { catalog, asked: Vec::new(), damaged }
        }
    }

    impl ImageSource for Rows {
        fn catalog(&self) -> &Catalog {
            &self.catalog
        }

        fn shape(&self) -> ImageShape {
            ImageShape { channels: 1, height: 1, width: 2 }
        }

        fn block(&self) -> usize {
            2
        }

        fn read(&mut self, rows: &[usize], pixels: &mut [u8]) -> Result<Vec<Broken>, DataError> {
            assert!(rows.iter().all(|row| self.asked.last().is_none_or(|last| row > last)));
            self.asked.extend(rows);
            for (&row, image) in rows.iter().zip(pixels.chunks_mut(2)) {
                image.fill(row as u8);
            }
            let broken = |&position: &usize| Some(rows[position]) == self.damaged;
            let tell = |position| Broken { position, message: "faces/2.jpg: torn".to_owned() };
            Ok((0..rows.len()).filter(broken).map(tell).collect())
        }
    }

    fn recipe<'a>(select: &'a BTreeMap<String, Choice>, steps: &'a [Step]) -> Recipe<'a> {
        let broken = BrokenPolicy::Fail;
        Recipe { select, split: None, division: None, steps, broken, like: None }
    }

    fn run(source: Rows, recipe: &Recipe<'_>) -> Result<(Vec<u8>, Prepared), String> {
        let mut pixels = Vec::new();
        let samples = Samples::Images(Box::new(source));
        prepare(samples, recipe, &mut pixels, &mut |_, _| ())
            .map(|prepared| (pixels, prepared))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_chosen_images_are_read_and_their_factors_follow_them() {
        let none = BTreeMap::new();
        let steps = [Step::First(NonZeroUsize::new(3).unwrap())];
        let (pixels, prepared) = run(Rows::new(None), &recipe(&none, &steps)).unwrap();
        assert_eq!(pixels, [0, 0, 1, 1, 2, 2]);
        let Prepared::Images { count, annotations, .. } = prepared else {
            panic!("these are images");
        };
        assert_eq!((count, annotations.factors.values), (3, vec![0.0, 1.0, 2.0]));
    }

    #[test]
    fn shuffled_samples_are_read_forward_and_keep_what_is_known_of_them() {
        let none = BTreeMap::new();
        let shuffle = Step::Shuffle { seed: Seed(1) };
        let steps = [shuffle.clone(), Step::First(NonZeroUsize::new(5).unwrap())];
        let mut recipe = recipe(&none, &steps);
        recipe.broken = BrokenPolicy::Skip;
        let (pixels, prepared) = run(Rows::new(Some(2)), &recipe).unwrap();
        let Prepared::Images { count, annotations, .. } = prepared else {
            panic!("these are images");
        };
        let rows: Vec<u8> = pixels.iter().copied().step_by(2).collect();
        let factors = |known: &Annotations| -> Vec<u8> {
            known.factors.values.iter().map(|&row| row as u8).collect()
        };
        assert_eq!((count, factors(&annotations)), (rows.len(), rows.clone()));
        assert!(!rows.is_sorted() && !rows.contains(&2), "{rows:?}");
        let first_values = |vectors: &Vectors| -> Vec<u8> {
            let values = vectors.points().values().iter().step_by(2);
            values.map(|value| (255.0 * value).round() as u8).collect()
        };
        let flat = [steps.to_vec(), vec![Step::Flatten]].concat();
        let (_, prepared) = run(Rows::new(Some(2)), &Recipe { steps: &flat, ..recipe }).unwrap();
        let Prepared::Vectors { vectors, .. } = prepared else { panic!("these are vectors") };
        assert_eq!((first_values(&vectors), factors(vectors.annotations())), (rows.clone(), rows));
        let recipe = Recipe { steps: &[shuffle], ..recipe };
        let samples = Samples::Vectors(vectors.clone(), None);
        let again = prepare(samples, &recipe, &mut Vec::new(), &mut |_, _| ()).unwrap();
        let Prepared::Vectors { vectors: again, .. } = again else { panic!("these are vectors") };
        assert_ne!(again, vectors);
        assert_eq!(first_values(&again), factors(again.annotations()));
    }

    #[test]
    fn a_broken_image_ends_it_or_is_left_out_and_told() {
        let none = BTreeMap::new();
        let mut recipe = recipe(&none, &[]);
        let error = run(Rows::new(Some(2)), &recipe).unwrap_err();
        assert_eq!(error, "faces/2.jpg: torn: fix or remove it, or set `skip_broken: true`");
        recipe.broken = BrokenPolicy::Skip;
        let (pixels, prepared) = run(Rows::new(Some(2)), &recipe).unwrap();
        assert_eq!(pixels, [0, 0, 1, 1, 3, 3, 4, 4, 5, 5, 6, 6]);
        let Prepared::Images { annotations, skipped, .. } = prepared else {
            panic!("these are images");
        };
        assert_eq!(annotations.factors.values, [0.0, 1.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(skipped, ["faces/2.jpg: torn"]);
    }

    #[test]
    fn flat_images_are_vectors_between_zero_and_one() {
        let none = BTreeMap::new();
        let (pixels, prepared) = run(Rows::new(None), &recipe(&none, &[Step::Flatten])).unwrap();
        assert!(pixels.is_empty());
        let Prepared::Vectors { vectors, .. } = prepared else {
            panic!("these are vectors");
        };
        assert_eq!(vectors.points().row(6), [6.0 / 255.0; 2]);
    }

    #[test]
    fn one_sample_is_no_data_set() {
        let none = BTreeMap::new();
        let steps = [Step::First(NonZeroUsize::MIN)];
        let refused =
            "a data set needs at least 2 samples, but only 1 is left: select more of them";
        let error = run(Rows::new(None), &recipe(&none, &steps)).unwrap_err();
        assert_eq!(error, refused);
        let two = [Step::First(NonZeroUsize::new(2).unwrap())];
        let skipping = Recipe { broken: BrokenPolicy::Skip, ..recipe(&none, &two) };
        assert_eq!(run(Rows::new(Some(1)), &skipping).unwrap_err(), refused, "one is broken");
        let points = Points::new(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let vectors = Vectors::new(points, Annotations::default()).unwrap();
        let samples = Samples::Vectors(vectors, None);
        let recipe = recipe(&none, &steps);
        let error = prepare(samples, &recipe, &mut Vec::new(), &mut |_, _| ()).unwrap_err();
        assert_eq!(error.to_string(), refused);
    }

    #[test]
    fn images_pass_through_in_blocks_and_vectors_that_do_not_fit_are_refused_beforehand() {
        let none = BTreeMap::new();
        // Two images of two pixels in a block, before and after the steps.
        let images = |available| {
            with_available(available, || run(Rows::new(None), &recipe(&none, &[])).map(|_| ()))
        };
        assert_eq!(images(8), Ok(()));
        assert_eq!(
            images(7).unwrap_err(),
            "reading images of 1 x 1 x 2 pixels, 2 at a time, would take 0.0 GB of memory, but \
             only 0.0 GB is available: use a smaller file, or more memory"
        );
        let flat = |available| {
            let recipe = recipe(&none, &[Step::Flatten]);
            with_available(available, || run(Rows::new(None), &recipe).map(|_| ()))
        };
        assert_eq!(flat(7 * 2 * 4), Ok(()));
        assert_eq!(
            flat(7 * 2 * 4 - 1).unwrap_err(),
            "7 images of 1 x 1 x 2 pixels as vectors would take 0.0 GB of memory, but only 0.0 GB \
             is available: leave out `Flatten`, or keep fewer with `First` or `Subset`"
        );
    }

    #[test]
    fn data_in_which_nothing_varies_are_refused() {
        let constant = Points::new(3, 2, vec![1.0; 6]).unwrap();
        let vectors = Vectors::new(constant, Annotations::default()).unwrap();
        let none = BTreeMap::new();
        let recipe = recipe(&none, &[]);
        let samples = Samples::Vectors(vectors, None);
        let error = prepare(samples, &recipe, &mut Vec::new(), &mut |_, _| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "all 3 vectors are identical, so there is nothing to learn from them"
        );
    }
}
