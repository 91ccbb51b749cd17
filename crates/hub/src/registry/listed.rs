//! Walks over what all servers have, without having it in one list.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use crate::registry::member::Member;

/// All things of a kind, server by server. Going to a far place is quick, as for a later page.
pub struct Listed<'a, T> {
    members: std::slice::Iter<'a, Arc<Member>>,
    pick: fn(&Member) -> &Vec<Arc<T>>,
    current: std::slice::Iter<'a, Arc<T>>,
    left: usize,
}

impl<'a, T> Listed<'a, T> {
    pub(crate) fn new(members: &'a [Arc<Member>], pick: fn(&Member) -> &Vec<Arc<T>>) -> Self {
        Self {
            left: members.iter().map(|member| pick(member).len()).sum(),
            members: members.iter(),
            pick,
            current: [].iter(),
        }
    }
}

impl<T> Clone for Listed<'_, T> {
    fn clone(&self) -> Self {
        Self {
            members: self.members.clone(),
            pick: self.pick,
            current: self.current.clone(),
            left: self.left,
        }
    }
}

impl<T> fmt::Debug for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listed")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl<'a, T> Iterator for Listed<'a, T> {
    type Item = &'a Arc<T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.nth(0)
    }

    fn nth(&mut self, mut places: usize) -> Option<Self::Item> {
        loop {
            let here = self.current.len();
            if let Some(found) = self.current.nth(places) {
                self.left = self.left.saturating_sub(places + 1);
                return Some(found);
            }
            places -= here;
            self.left = self.left.saturating_sub(here);
            self.current = (self.pick)(self.members.next()?).iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Listed<'_, T> {}

impl<T> FusedIterator for Listed<'_, T> {}
