//! The image: whether it is there and what it was made from, building ours, pulling others.
//!
//! Ours is built from the files of `docker/`, which are part of this program. Its label says what it was made from, so an
//! image that is older than the program is known. Nothing is built or pulled unless a person agreed.

use std::{collections::HashMap, fmt::Write as _};

use bollard::{
    models::{CreateImageInfo, ImageInspect},
    query_parameters::{BuildImageOptions, CreateImageOptions},
};
use futures::StreamExt as _;
use sandbook_sandbox::{ImageSource, ImageState, Progress, SandboxError};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::engine::{Engine, is_gone};

/// The name of our own image.
pub const IMAGE: &str = "sandbook/sandbox:latest";
/// The label that says what an image of ours was made from.
pub(super) const INPUTS_LABEL: &str = "io.sandbook.inputs";

/// What our image is made from: name, mode, text.
const FILES: [(&str, u32, &str); 4] = [
    ("Dockerfile", 0o644, include_str!("../../../../docker/Dockerfile")),
    ("requirements.txt", 0o644, include_str!("../../../../docker/requirements.txt")),
    ("start", 0o755, include_str!("../../../../docker/start")),
    ("user-requirements.txt", 0o644, include_str!("../../../../docker/user-requirements.txt")),
];

/// The digest of the files that our image is made from.
pub fn inputs() -> String {
    let digest = FILES.iter().fold(Sha256::new(), |digest, (name, _, text)| {
        digest.chain_update(name).chain_update([0]).chain_update(text).chain_update([0])
    });
    hex(&digest.finalize())
}

/// A digest as it is written.
pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Refuses an image that is missing and may not be obtained.
pub(super) fn require(state: ImageState, image: &str, may_obtain: bool) -> Result<(), SandboxError> {
    if state != ImageState::Missing || may_obtain {
        return Ok(());
    }
    let next = match source(image) {
        ImageSource::Built => {
            "Agree that it is built: this downloads a few hundred megabytes, once.".to_owned()
        }
        ImageSource::Pulled => format!("Agree that it is pulled, or do it yourself: docker pull {image}"),
    };
    let reason = "it is not on this computer".to_owned();
    Err(SandboxError::NotReady { what: format!("the image {image}"), reason, next })
}

/// Where an image of this name comes from.
pub(super) fn source(image: &str) -> ImageSource {
    if image == IMAGE { ImageSource::Built } else { ImageSource::Pulled }
}

/// What an engine knows of an image.
pub(super) async fn inspect(engine: &Engine, image: &str) -> Result<Option<ImageInspect>, SandboxError> {
    match engine.docker.inspect_image(image).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(engine.explain(&error)),
    }
}

/// How an image is.
pub(super) async fn state(engine: &Engine, image: &str) -> Result<ImageState, SandboxError> {
    let Some(found) = inspect(engine, image).await? else { return Ok(ImageState::Missing) };
    let made_from = label(&found, INPUTS_LABEL);
    let is_stale = image == IMAGE && made_from.is_none_or(|made_from| made_from != inputs());
    Ok(if is_stale { ImageState::Stale } else { ImageState::Present })
}

fn label<'a>(image: &'a ImageInspect, name: &str) -> Option<&'a str> {
    image.config.as_ref()?.labels.as_ref()?.get(name).map(String::as_str)
}

/// Whether an image was made from our Dockerfile, under whatever name.
pub(super) fn is_ours(image: &ImageInspect) -> bool {
    label(image, INPUTS_LABEL).is_some()
}

/// Builds our image, or pulls another, and says how far it is.
pub(super) async fn obtain(
    engine: &Engine,
    image: &str,
    progress: &Progress,
    cancel: &CancellationToken,
) -> Result<(), SandboxError> {
    let obtained = async {
        match source(image) {
            ImageSource::Built => build(engine, progress).await,
            ImageSource::Pulled => pull(engine, image, progress).await,
        }
    };
    tokio::select! {
        obtained = obtained => obtained,
        // the engine gives up what nobody listens to
        () = cancel.cancelled() => Err(SandboxError::Cancelled),
    }
}

fn failed(image: &str, detail: impl Into<String>) -> SandboxError {
    SandboxError::StartFailed { what: format!("the image {image}"), detail: detail.into() }
}

async fn build(engine: &Engine, progress: &Progress) -> Result<(), SandboxError> {
    progress.report(format!("Building {IMAGE}. This happens once and takes a few minutes"), None);
    let context = archive().map_err(|error| SandboxError::Failed(error.to_string()))?;
    let options = BuildImageOptions {
        dockerfile: "Dockerfile".into(),
        t: Some(IMAGE.into()),
        rm: true,
        forcerm: true,
        buildargs: Some(HashMap::from([("INPUTS".to_owned(), inputs())])),
        ..BuildImageOptions::default()
    };
    let mut lines =
        std::pin::pin!(engine.docker.build_image(options, None, Some(bollard::body_full(context.into()))));
    while let Some(line) = lines.next().await {
        let line = line.map_err(|error| failed(IMAGE, error.to_string()))?;
        if let Some(message) = line.error_detail.and_then(|error| error.message) {
            return Err(failed(IMAGE, message));
        }
        let text = line.stream.or(line.status).unwrap_or_default();
        if !text.trim().is_empty() {
            progress.report(text.trim_end(), None);
        }
    }
    Ok(())
}

/// What is built from, as an engine takes it.
fn archive() -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, mode, text) in FILES {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(mode);
        archive.append_data(&mut header, name, text.as_bytes())?;
    }
    archive.into_inner()
}

async fn pull(engine: &Engine, image: &str, progress: &Progress) -> Result<(), SandboxError> {
    progress.report(format!("Pulling {image}"), None);
    let tag = if image.rsplit('/').next().unwrap_or_default().contains([':', '@']) { "" } else { "latest" };
    let options = CreateImageOptions {
        from_image: Some(image.to_owned()),
        tag: (!tag.is_empty()).then(|| tag.to_owned()),
        ..CreateImageOptions::default()
    };
    let mut layers = Layers::default();
    let mut told = std::pin::pin!(engine.docker.create_image(Some(options), None, None));
    while let Some(line) = told.next().await {
        let line = line.map_err(|error| failed(image, error.to_string()))?;
        if let Some(message) = line.error_detail.as_ref().and_then(|error| error.message.clone()) {
            return Err(failed(image, message));
        }
        if let Some(fraction) = layers.note(&line) {
            progress.report(format!("Pulling {image}"), Some(fraction));
        }
    }
    Ok(())
}

/// How far each layer of a pull has come, in bytes.
#[derive(Default)]
struct Layers(HashMap<String, (i64, i64)>);

impl Layers {
    /// Takes in one line; the share of all that is known to come, where it is about that.
    fn note(&mut self, line: &CreateImageInfo) -> Option<f64> {
        let (id, detail) = (line.id.clone()?, line.progress_detail.as_ref()?);
        if line.status.as_deref() != Some("Downloading") {
            return None;
        }
        self.0.insert(id, (detail.current?, detail.total.filter(|total| *total > 0)?));
        let (done, all) = self.0.values().fold((0, 0), |sum, layer| (sum.0 + layer.0, sum.1 + layer.1));
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        Some((done as f64 / all as f64).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::ProgressDetail;

    use super::*;

    #[test]
    fn a_missing_image_is_refused_with_the_way_to_it_unless_a_person_agreed() {
        let error = require(ImageState::Missing, IMAGE, false).unwrap_err();
        assert!(error.hint().contains("built"), "{error}");
        let error = require(ImageState::Missing, "quay.io/x/y", false).unwrap_err();
        assert!(error.hint().contains("docker pull quay.io/x/y"), "{error}");
        assert!(require(ImageState::Missing, IMAGE, true).is_ok());
        assert!(require(ImageState::Stale, IMAGE, false).is_ok());
    }

    #[test]
    fn the_share_of_a_pull_is_over_all_layers_that_are_known() {
        let line = |id: &str, current, total| CreateImageInfo {
            id: Some(id.into()),
            status: Some("Downloading".into()),
            progress_detail: Some(ProgressDetail { current: Some(current), total: Some(total) }),
            ..CreateImageInfo::default()
        };
        let mut layers = Layers::default();
        assert_eq!(layers.note(&line("a", 50, 100)), Some(0.5));
        assert_eq!(layers.note(&line("b", 0, 100)), Some(0.25));
        assert_eq!(layers.note(&line("b", 100, 100)), Some(0.75));
        assert_eq!(layers.note(&line("c", 5, 0)), None);
        assert_eq!(layers.note(&CreateImageInfo::default()), None);
    }
}
