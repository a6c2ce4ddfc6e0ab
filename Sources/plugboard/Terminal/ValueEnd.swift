// What ends a value by itself, and when, as text for a person: `ttl` and `while` in the broker's lines, and
// what a journal keeps of them.

import PlugboardPosix
import PlugboardWire

/// The end of a value that nobody has to delete.
struct ValueEnd: Equatable {
    private static let withConnection = "with its writer's connection"

    private let isBound: Bool
    /// In milliseconds since 1970; nil without a time.
    private let time: UInt64?
    /// How many milliseconds are left; nil if that isn't asked.
    private let left: UInt64?
    /// How many milliseconds its writer has to come back; nil if it isn't waited for.
    private var grace: UInt64?

    /// Nil if the value stays.
    init?(isBound: Bool, time: UInt64?, left: UInt64? = nil) {
        guard isBound || time != nil else { return nil }
        (self.isBound, self.time, self.left) = (isBound, time, left)
    }

    /// What a line of the broker says at this moment, in milliseconds since 1970.
    init?(_ line: JSONObject, now: UInt64 = WallClock.millisecondsSince1970()) {
        let left = line["ttl"]?.integer
        self.init(isBound: line["while"] != nil, time: left.map { now.addingClamped($0) }, left: left)
        grace = line["grace"]?.integer
    }

    /// What a record of a journal says.
    init?(isBound: Bool, expires: UInt64) {
        self.init(isBound: isBound, time: expires > 0 ? expires : nil)
    }

    /// `in 4:58, at 2026-11-21T13:05:00.123Z, or with its writer's connection`.
    var text: String {
        let byWriter = grace.map { "in \(Self.span($0)) unless its writer comes back" } ?? Self.withConnection
        guard let time else { return byWriter }
        let wait = left.map { "in \(Self.span($0)), " } ?? ""
        return "\(wait)at \(UTCTime.text(time))" + (isBound ? ", or \(byWriter)" : "")
    }

    private static func span(_ milliseconds: UInt64) -> String {
        Amount.age(seconds: (milliseconds + 999) / 1_000)
    }
}

extension UInt64 {
    /// The sum, or the latest time that is shown, the end of the year 9999.
    fileprivate func addingClamped(_ other: UInt64) -> UInt64 {
        let latest: UInt64 = 253_402_300_799_999
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? latest : Swift.min(sum, latest)
    }
}

extension CommandOption {
    static let long = CommandOption(
        flag: "long", short: "l", "also show the revision, and what ends the value by itself, and when"
    )
}
