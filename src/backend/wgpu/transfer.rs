//! Bytes to the device and back.

use super::{Buffer, Wgpu, lock};
use crate::error::{Error, Result};
use futures_intrusive::channel::shared::oneshot_channel;
use rayon::prelude::*;
use std::collections::HashMap;

/// Bytes moved at a time, so that staging memory stays small beside the matrices.
const CHUNK: u64 = 64 << 20;

impl Wgpu {
    pub(super) fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        for (index, chunk) in bytes.chunks(CHUNK as usize).enumerate() {
            self.queue.write_buffer(&buffer.buffer, offset + index as u64 * CHUNK, chunk);
            if bytes.len() as u64 > CHUNK {
                // Writes are kept in staging memory until the next submission.
                self.queue.submit([]);
                self.wait()?;
            }
        }
        self.check()
    }

    pub(super) fn fill_words(&self, buffer: &Buffer, offset: u64, len: u64, word: u32) -> Result<()> {
        let pattern = self.pattern(word);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("fill") });
        let mut done = 0;
        while done < len {
            let part = (len - done).min(pattern.size());
            encoder.copy_buffer_to_buffer(&pattern, 0, &buffer.buffer, offset + done, part);
            done += part;
        }
        self.queue.submit([encoder.finish()]);
        self.check()
    }

    /// A buffer full of `word`, kept for the next fill with it.
    fn pattern(&self, word: u32) -> wgpu::Buffer {
        const PATTERN_BYTES: u64 = 4 << 20;
        kept(&mut lock(&self.patterns), word, || {
            let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("pattern"),
                size: PATTERN_BYTES,
                usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let bytes = word.to_le_bytes().repeat(PATTERN_BYTES as usize / 4);
            self.queue.write_buffer(&buffer, 0, &bytes);
            buffer
        })
    }

    pub(super) async fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() {
            return self.check();
        }
        // Taken out while it is used, so that a second reader makes its own.
        let kept = lock(&self.staging).take();
        let size = (bytes.len() as u64).min(CHUNK);
        let staging = kept.filter(|s| s.size() >= size).unwrap_or_else(|| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("staging"),
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        for (index, chunk) in bytes.chunks_mut(CHUNK as usize).enumerate() {
            self.read_chunk(&staging, &buffer.buffer, offset + index as u64 * CHUNK, chunk).await?;
        }
        lock(&self.staging).replace(staging);
        Ok(())
    }

    async fn read_chunk(
        &self,
        staging: &wgpu::Buffer,
        buffer: &wgpu::Buffer,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<()> {
        /// Bytes that one core copies out of the mapped memory at a time.
        const PIECE: usize = 1 << 20;
        let len = bytes.len() as u64;
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("read") });
        encoder.copy_buffer_to_buffer(buffer, offset, staging, 0, len);
        self.queue.submit([encoder.finish()]);
        self.map(staging, len, None).await?;
        let view = staging.get_mapped_range(..len).map_err(|error| Error::device("get_mapped_range", error))?;
        bytes.par_chunks_mut(PIECE).zip(view.par_chunks(PIECE)).for_each(|(to, from)| to.copy_from_slice(from));
        drop(view);
        staging.unmap();
        self.check()
    }

    /// Waits until `staging` can be read: for one submission, or for all so far. Natively this blocks in
    /// `poll`; a browser calls back by itself.
    pub(super) async fn map(
        &self,
        staging: &wgpu::Buffer,
        len: u64,
        submission: Option<wgpu::SubmissionIndex>,
    ) -> Result<()> {
        let (sender, receiver) = oneshot_channel();
        staging.map_async(wgpu::MapMode::Read, ..len, move |result| {
            // The receiver may be gone if its future was dropped; nobody waits then.
            let _ = sender.send(result);
        });
        self.wait_for(submission)?;
        match receiver.receive().await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => self.check().and(Err(Error::device("map_async", error))),
            None => self.check().and(Err(Error::device("map_async", "the callback was dropped"))),
        }
    }

    /// Waits for all work so far, where waiting is possible.
    pub(super) fn wait(&self) -> Result<()> {
        self.wait_for(None)
    }

    /// Waits for one submission, or for all so far.
    fn wait_for(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<()> {
        #[cfg(target_arch = "wasm32")]
        let _ = submission;
        #[cfg(not(target_arch = "wasm32"))]
        if let Err(error) = self.device.poll(wgpu::PollType::Wait { submission_index: submission, timeout: None }) {
            self.check()?;
            return Err(Error::device("poll", error));
        }
        self.check()
    }
}

/// Patterns that are kept at a time.
const MOST_PATTERNS: usize = 8;

/// The pattern of a word: the kept one, or one that is made and kept.
fn kept<T: Clone>(patterns: &mut HashMap<u32, T>, word: u32, make: impl FnOnce() -> T) -> T {
    if patterns.len() >= MOST_PATTERNS && !patterns.contains_key(&word) {
        patterns.clear();
    }
    patterns.entry(word).or_insert_with(make).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_patterns_are_kept_and_each_is_made_once_while_it_is() {
        let (mut patterns, mut made) = (HashMap::new(), 0);
        for word in [7, 7, 8, 7].into_iter().chain(100..200).chain([199]) {
            let pattern = kept(&mut patterns, word, || {
                made += 1;
                word
            });
            assert_eq!(pattern, word);
            assert!(patterns.len() <= MOST_PATTERNS, "{patterns:?}");
        }
        assert_eq!(made, 2 + 100);
    }
}
