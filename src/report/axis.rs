//! Axes: numbers to places on paper, with ticks that read well.

/// A logarithmic axis.
pub struct Log {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Log {
    /// An axis over all `values` above 0, from one place to another; a little is left on either side.
    pub fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Log {
        const ROOM: f64 = 1.3;
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|v| v.is_finite() && *v > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        Log { low: low / ROOM, high: high * ROOM, from, to }
    }

    /// The place of a value.
    pub fn place(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The least and the largest value.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Powers of ten on it; where there are fewer than two, multiples of those as well.
    pub fn ticks(&self) -> Vec<f64> {
        let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let inside = |tick: &f64| *tick >= self.low && *tick <= self.high;
        let tens: Vec<f64> = decades.clone().map(|e| 10f64.powi(e)).filter(inside).collect();
        if tens.len() >= 2 {
            return tens;
        }
        let steps = |multiples: &'static [f64]| -> Vec<f64> {
            decades.clone().flat_map(|e| multiples.iter().map(move |m| m * 10f64.powi(e))).filter(inside).collect()
        };
        let few = steps(&[1.0, 2.0, 5.0]);
        if few.len() >= 2 { few } else { steps(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]) }
    }
}

/// A number with the prefix of its size: 1.5 M.
pub fn short(value: f64) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")];
    let (scale, prefix) = prefixes.into_iter().find(|(scale, _)| value >= *scale * 0.9999).unwrap_or((1.0, ""));
    let number = value / scale;
    let digits = if number >= 10.0 || (number - number.round()).abs() < 1e-9 { 0 } else { 1 };
    format!("{number:.digits$}{}{prefix}", if prefix.is_empty() { "" } else { " " })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_places_and_ticks() {
        let axis = Log::over([1.0, 1000.0].into_iter(), 0.0, 100.0);
        assert!(axis.place(1.0) > 0.0 && axis.place(1000.0) < 100.0);
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!(Log::over([2.0, 3.0].into_iter(), 0.0, 1.0).ticks().len() >= 2);
        assert!(Log::over(std::iter::empty(), 0.0, 1.0).place(f64::NAN).is_finite());
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!([1.5e6, 4e9, 0.5, 12.0, 1e-6].map(short), ["1.5 M", "4 G", "500 m", "12", "1 u"]);
    }
}
