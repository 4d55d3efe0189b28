//! Open values: containers whose items may be anything.
//!
//! Owns the way through deep ones, which takes no stack: how deep such a value is is up to who has sent it.

use super::encode::{Encoder, Node, Source, Written, located, position_of};
use super::fault::Loc;
use super::table::Type;

/// A container that is being written.
struct Level<W> {
    walk: W,
    is_map: bool,
    begun: usize,
}

impl<W> Level<W> {
    /// The item that is being written.
    fn step(&self) -> Loc {
        if self.is_map { Loc::Key } else { Loc::Index(self.begun.saturating_sub(1)) }
    }
}

impl<S: Source> Encoder<'_, '_, S> {
    /// Writes a list or a map of anything.
    pub(super) fn open(&mut self, value: &S::Value, is_map: bool) -> Written<S> {
        let mut levels = Vec::new();
        self.begin(value, is_map, &mut levels)?;
        self.write_levels(&mut levels).map_err(|failure| {
            levels.iter().rev().fold(failure, |failure, level| located(failure, level.step()))
        })
    }

    fn begin(
        &mut self,
        value: &S::Value,
        is_map: bool,
        levels: &mut Vec<Level<S::Walk>>,
    ) -> Written<S> {
        self.deeper()?;
        self.out.push(if is_map { b'{' } else { b'[' });
        levels.push(Level { walk: self.source.walk(value)?, is_map, begun: 0 });
        Ok(())
    }

    /// Writes what is left of these containers, the innermost last.
    fn write_levels(&mut self, levels: &mut Vec<Level<S::Walk>>) -> Written<S> {
        let source = self.source;
        while let Some(level) = levels.last_mut() {
            let Some((key, item)) = source.step(&mut level.walk)? else {
                self.out.push(if level.is_map { b'}' } else { b']' });
                self.depth -= 1;
                levels.pop();
                continue;
            };
            let mut later = level.begun > 0;
            level.begun += 1;
            if let Some(key) = key {
                let written = source.spelled(&key, |node| self.key(node, &mut later));
                if let Err(failure) = written {
                    // Where it is missing it is no place.
                    levels.pop();
                    return Err(failure);
                }
            } else if later {
                self.out.push(b',');
            }
            match source.node(&item) {
                Node::List => self.begin(&item, false, levels)?,
                Node::Map => self.begin(&item, true, levels)?,
                _ => self.value(&Type::Any, &item, position_of(&Type::Any))?,
            }
        }
        Ok(())
    }
}
