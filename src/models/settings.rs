//! What the settings of every model provide, and how one declaration reaches all models.

use std::num::NonZeroUsize;

use super::flops::Flops;
use super::network::NetworkSpec;
use super::{Autoencoder, BuildContext, ClosedForm, Codec, ModelError, Reconstruction, Weights};
use crate::data::SampleForm;

/// The settings of one model.
pub(super) trait ModelSettings {
    /// The model that they are of.
    type Model: Accept;

    /// Small models for the tests that every model has to pass, as a pipeline would name them.
    #[cfg(test)]
    const EXAMPLES: &'static [&'static str];

    /// Returns the settings that all models have.
    fn common(&self) -> CommonSettings<'_>;

    /// Makes the untrained model.
    fn build(&self, context: &BuildContext<'_>) -> Result<Self::Model, ModelError>;

    /// Returns whether training needs distances between the training samples.
    fn needs_distances(&self) -> bool {
        false
    }

    /// Returns how reconstructions are compared in training; none for a model without a network.
    fn reconstruction(&self, form: SampleForm) -> Option<Reconstruction> {
        let CommonSettings { network, reconstruction, .. } = self.common();
        reconstruction.or(Some(network?.default_reconstruction(form)))
    }

    /// Returns how many stages the model is trained in, each for the whole length.
    fn stages(&self) -> usize {
        1
    }

    /// Returns the operations of a forward pass over one sample of a batch in training, in all stages
    /// together.
    fn forward_flops(&self, form: SampleForm, _batch: usize) -> Result<f64, ModelError> {
        Ok(self.common().flops(form)?.total())
    }
}

/// The settings that all models have.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommonSettings<'a> {
    /// Number of coordinates of a code.
    pub(super) latent: NonZeroUsize,
    /// The network between samples and codes, if there is one.
    pub(super) network: Option<&'a NetworkSpec>,
    /// How reconstructions are compared, if it was chosen.
    pub(super) reconstruction: Option<Reconstruction>,
}

impl<'a> CommonSettings<'a> {
    /// Collects the settings of a model with a network.
    pub(super) const fn new(
        latent: NonZeroUsize,
        network: &'a NetworkSpec,
        reconstruction: Option<Reconstruction>,
    ) -> Self {
        Self { latent, network: Some(network), reconstruction }
    }

    /// Returns the operations for one sample.
    pub(super) fn flops(&self, form: SampleForm) -> Result<Flops, ModelError> {
        match self.network {
            Some(network) => network.flops(form, self.latent.get()),
            None => Ok(Flops::linear(form.values(), self.latent.get())),
        }
    }
}

/// Something that is done with a model, whatever its type.
pub trait ModelVisitor {
    /// What comes of it.
    type Output;
    /// Why it may fail.
    type Error: From<ModelError>;

    /// Visits a model that is trained step by step.
    fn trainable<M: Autoencoder + 'static>(self, model: M) -> Result<Self::Output, Self::Error>;

    /// Visits a model whose weights are computed at once.
    fn closed_form<M: ClosedForm + 'static>(self, model: M) -> Result<Self::Output, Self::Error>;
}

/// What a visit comes to.
pub type Visited<V> = Result<<V as ModelVisitor>::Output, <V as ModelVisitor>::Error>;

/// A model that can be visited.
pub(super) trait Accept {
    /// Lets a visitor visit the model.
    fn accept<V: ModelVisitor>(self, visitor: V) -> Visited<V>;
}

impl<M: Autoencoder + 'static> Accept for M {
    fn accept<V: ModelVisitor>(self, visitor: V) -> Visited<V> {
        visitor.trainable(self)
    }
}

/// Loads trained weights into a model.
pub(super) struct LoadWeights<'a>(pub(super) &'a Weights);

impl ModelVisitor for LoadWeights<'_> {
    type Output = Box<dyn Codec>;
    type Error = ModelError;

    fn trainable<M: Autoencoder + 'static>(self, model: M) -> Result<Box<dyn Codec>, ModelError> {
        Ok(Box::new(self.0.load_into(model.complete()?)?))
    }

    fn closed_form<M: ClosedForm + 'static>(self, model: M) -> Result<Box<dyn Codec>, ModelError> {
        Ok(Box::new(self.0.load_into(model)?))
    }
}

/// Declares the models: an enum of their settings, and the matches over it.
macro_rules! declare_models {
    (
        $(#[$attribute:meta])*
        pub enum $spec:ident {
            $($(#[$doc:meta])* $model:ident($settings:ty),)*
        }
    ) => {
        $(#[$attribute])*
        pub enum $spec {
            $($(#[$doc])* $model($settings),)*
        }

        impl $spec {
            /// Makes the untrained model and hands it to a visitor.
            pub fn visit<V: ModelVisitor>(
                &self,
                context: &BuildContext<'_>,
                visitor: V,
            ) -> Visited<V> {
                match self {
                    $(Self::$model(settings) => settings.build(context)?.accept(visitor),)*
                }
            }

            /// Returns whether training needs distances between the training samples.
            pub fn needs_distances(&self) -> bool {
                match self {
                    $(Self::$model(settings) => settings.needs_distances(),)*
                }
            }

            /// Returns how many stages the model is trained in, each for the whole length.
            pub fn stages(&self) -> usize {
                match self {
                    $(Self::$model(settings) => settings.stages(),)*
                }
            }

            /// Returns how reconstructions are compared in training; none for a model without a
            /// network.
            pub fn reconstruction(&self, form: SampleForm) -> Option<Reconstruction> {
                match self {
                    $(Self::$model(settings) => settings.reconstruction(form),)*
                }
            }

            fn common(&self) -> CommonSettings<'_> {
                match self {
                    $(Self::$model(settings) => settings.common(),)*
                }
            }

            fn forward_flops(&self, form: SampleForm, batch: usize) -> Result<f64, ModelError> {
                match self {
                    $(Self::$model(settings) => settings.forward_flops(form, batch),)*
                }
            }

            /// Returns small models of every kind, with the texts that name them.
            #[cfg(test)]
            pub(crate) fn examples() -> Vec<(&'static str, Self)> {
                let mut all = Vec::new();
                $(
                    for text in <$settings as ModelSettings>::EXAMPLES {
                        let spec = reference::options().from_str(text).unwrap();
                        assert!(matches!(spec, Self::$model(_)), "{text}");
                        all.push((*text, spec));
                    }
                )*
                all
            }
        }
    };
}

pub(super) use declare_models;
