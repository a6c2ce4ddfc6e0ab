// How fast a recording is played.

import PlugboardPosix
import PlugboardWire

/// A factor, or as fast as possible.
struct ReplaySpeed: Sendable {
    /// How many times faster than recorded; nil is as fast as possible.
    let factor: Double?

    static let asRecorded = ReplaySpeed(factor: 1)

    /// `10`, `0.5`; `0` and `max` are as fast as possible. At most a million times.
    init?(parsing text: String) {
        if text == "max" {
            factor = nil
            return
        }
        guard let number = CommandOption.seconds(text), number == 0 || (0.001...1_000_000).contains(number)
        else {
            return nil
        }
        factor = number == 0 ? nil : number
    }

    private init(factor: Double?) {
        self.factor = factor
    }

    /// Nanoseconds from the start to an event that was recorded this many milliseconds after it; a
    /// century at most, which can't overflow.
    func nanoseconds(after milliseconds: Double) -> UInt64 {
        guard let factor else { return 0 }
        return UInt64(min(max(0, milliseconds) * 1e6 / factor, 3e18))
    }
}
