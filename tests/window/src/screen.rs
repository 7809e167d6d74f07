//! The screen itself, for what has to be seen without the driver.

use anyhow::{Context, Result};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt, ImageFormat, Window};
use x11rb::rust_connection::RustConnection;

/// The display that the windows are on.
pub struct Screen {
    connection: RustConnection,
    root: Window,
    size: (u16, u16),
}

impl Screen {
    /// Connects to the display of the environment.
    ///
    /// # Errors
    /// When there is none.
    pub fn open() -> Result<Self> {
        let (connection, number) = x11rb::connect(None).context("there is no display")?;
        let screen = connection.setup().roots.get(number).context("the display has no screen")?;
        let (root, size) = (screen.root, (screen.width_in_pixels, screen.height_in_pixels));
        Ok(Self { connection, root, size })
    }

    /// How many points have this colour, as `0x00rrggbb`.
    ///
    /// # Errors
    /// When the display does not answer.
    pub fn count(&self, colour: u32) -> Result<usize> {
        let (width, height) = self.size;
        let image =
            self.connection.get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, width, height, u32::MAX)?;
        let data = image.reply().context("the screen cannot be read")?.data;
        let is_colour = |point: &&[u8]| {
            point.iter().rev().skip(1).fold(0_u32, |value, byte| value << 8 | u32::from(*byte)) == colour
        };
        Ok(data.chunks_exact(4).filter(is_colour).count())
    }
}
