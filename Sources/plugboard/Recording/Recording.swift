// The format of a recorded session: JSON lines. The first line says what was recorded,
// `{"recording":1,…}`. Each later line is the broker's own, byte for byte, with `"ms"` in front:
// the milliseconds since the start.

import PlugboardPosix
import PlugboardWire

/// How a recording is written.
enum Recording {
    /// The number of the format. A change that an older `replay` would misread gets the next one.
    static let version: UInt64 = 1

    /// The first line, without its line feed.
    static func header(
        patterns: [String], revision: UInt64?, greeting: BrokerLine?, milliseconds since1970: UInt64
    ) -> [UInt8] {
        var header = ObjectWriter().adding("recording", version).adding("patterns", strings: patterns)
            .adding("started", string: UTCTime.text(since1970)).adding("revision", revision)
        for name in ["protocol", "epoch", "broker", "version"] {
            header = header.adding(name, json: greeting?[name]?.bytes)
        }
        return header.bytes
    }

    /// A line of the broker's with its time, without its line feed.
    static func line(_ line: BrokerLine, nanoseconds: UInt64) -> [UInt8] {
        Array(#"{"ms":\#(milliseconds(nanoseconds)),"#.utf8) + line.bytes.dropFirst()
    }

    /// `1234.567`.
    static func milliseconds(_ nanoseconds: UInt64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let digits = String(rest / 1_000)
        return "\(whole)." + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
