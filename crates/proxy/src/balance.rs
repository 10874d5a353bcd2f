//! The choice among servers that could have a request.
//!
//! Owns how each balance chooses. Who could have it is decided before.

use std::cmp::Ordering;

use crate::hash::mix;
use crate::random::Random;
use crate::rules::Balance;
use crate::server::{Server, Warmth};

/// The servers that could have a request, by their numbers.
#[derive(Debug)]
pub(crate) struct Candidates<'a> {
    pub(crate) servers: &'a mut [Server],
    /// Not empty.
    pub(crate) numbers: &'a [u8],
    /// By which their weights are known.
    pub(crate) warmth: Warmth,
}

impl Candidates<'_> {
    fn server(&self, number: u8) -> Option<&Server> {
        self.servers.get(usize::from(number))
    }

    fn weight(&self, number: u8) -> u32 {
        self.server(number).map_or(0, |server| server.weight(self.warmth))
    }

    /// Chooses one. A request without a key goes to any server, also where keys decide.
    pub(crate) fn choose(
        &mut self,
        balance: Balance,
        key: Option<u64>,
        random: &mut Random,
    ) -> Option<u8> {
        if let [only] = self.numbers {
            return Some(*only);
        }
        match (balance, key) {
            (Balance::RoundRobin, _) => self.next_in_turn(),
            (Balance::Least, _) => self.least_busy(random),
            (Balance::Hash, Some(key)) => self.of_key(key),
            (Balance::TwoChoices | Balance::Hash, _) => self.of_two(random),
        }
    }

    /// One at random, by weight, but not this one.
    fn at_random(&self, but: Option<u8>, random: &mut Random) -> Option<u8> {
        let others = || self.numbers.iter().copied().filter(|number| Some(*number) != but);
        let total: u32 = others().map(|number| self.weight(number)).sum();
        self.by_weight(others(), random.below(total)).or_else(|| others().next())
    }

    /// The one of these in whose weight this point lies, if their weights are laid side by side.
    fn by_weight(&self, mut numbers: impl Iterator<Item = u8>, mut point: u32) -> Option<u8> {
        numbers.find(|number| {
            let weight = self.weight(*number);
            let is_it = point < weight;
            point = point.saturating_sub(weight);
            is_it
        })
    }

    fn of_two(&self, random: &mut Random) -> Option<u8> {
        let one = self.at_random(None, random)?;
        let two = self.at_random(Some(one), random)?;
        Some(match self.compare_load(two, one)? {
            Ordering::Equal => one,
            Ordering::Less if self.may_be_preferred(two, random) => two,
            Ordering::Greater if !self.may_be_preferred(one, random) => two,
            Ordering::Less | Ordering::Greater => one,
        })
    }

    /// Whether a server may get a request because it has less to do. With few requests at a time one that is warmed up
    /// nearly always has less to do, and would get as many as the others: so it may only as often as its weight says.
    fn may_be_preferred(&self, number: u8, random: &mut Random) -> bool {
        let percent = self.server(number).map_or(100, |server| server.percent(self.warmth));
        percent >= 100 || random.below(100) < percent
    }

    fn compare_load(&self, one: u8, other: u8) -> Option<Ordering> {
        Some(self.server(one)?.compare_load(self.server(other)?, self.warmth))
    }

    /// Of equally busy ones, one at random: the first would get all requests when there is little to do.
    fn least_busy(&self, random: &mut Random) -> Option<u8> {
        let is_less = |one, other| self.compare_load(one, other) == Some(Ordering::Less);
        let each = || self.numbers.iter().copied();
        let least_of = |numbers: &mut dyn Iterator<Item = u8>| {
            numbers.reduce(|least, next| if is_less(next, least) { next } else { least })
        };
        let mut least = least_of(&mut each())?;
        let next = least_of(&mut each().filter(|number| *number != least))?;
        if is_less(least, next) && !self.may_be_preferred(least, random) {
            least = next;
        }
        let is_least = |number: &u8| self.compare_load(*number, least) == Some(Ordering::Equal);
        let total = each().filter(is_least).map(|number| self.weight(number)).sum();
        self.by_weight(each().filter(is_least), random.below(total)).or(Some(least))
    }

    /// The one that is most behind its share: each round every server earns its weight, and the chosen one pays all of
    /// them. So three of weight 5, 1, 1 are chosen as a a b a c a a.
    fn next_in_turn(&mut self) -> Option<u8> {
        let total: i64 = self.numbers.iter().map(|number| i64::from(self.weight(*number))).sum();
        let mut chosen: Option<(u8, i64)> = None;
        for number in self.numbers {
            let Some(server) = self.servers.get_mut(usize::from(*number)) else { continue };
            server.credit += i64::from(server.weight(self.warmth));
            if chosen.is_none_or(|(_, most)| server.credit > most) {
                chosen = Some((*number, server.credit));
            }
        }
        let (number, _) = chosen?;
        if let Some(server) = self.servers.get_mut(usize::from(number)) {
            server.credit -= total;
        }
        Some(number)
    }

    /// The server with the highest score for a key. With the logarithm, each wins as often as its weight says.
    fn of_key(&self, key: u64) -> Option<u8> {
        let score = |number: u8| {
            let identity = self.server(number).map_or(0, |server| server.rules.identity);
            // A fraction above 0 and below 1, of 53 bits.
            let bits = (mix(key ^ mix(identity)) >> 11) as f64;
            let fraction = (bits + 0.5) / (1u64 << 53) as f64;
            -f64::from(self.weight(number)) / fraction.ln()
        };
        self.numbers.iter().copied().max_by(|one, two| score(*one).total_cmp(&score(*two)))
    }
}
