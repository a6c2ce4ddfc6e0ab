// Where clients arrive. The listening socket rests while no descriptor is free, and its files are looked after:
// who removes the socket's file would otherwise cut the bus off.

import PlugboardPosix

struct Listener {
    private static let restNanoseconds: UInt64 = 100_000_000
    /// After such a time without a rest, one is news again.
    static let newsNanoseconds: UInt64 = 60_000_000_000

    let raw: Int32
    /// The socket with its files; nil in tests of the loop alone.
    var server: ServerSocket?
    /// Keeps the lock of the folder of the journal; likewise.
    var keepJournalLock: () -> Void = {}
    private var nextCheck: UInt64 = 0
    private var restsUntil: UInt64?
    private var lastRest: UInt64?

    init(raw: Int32) {
        self.raw = raw
    }

    var rests: Bool { restsUntil != nil }

    var next: UInt64 { min(restsUntil ?? .max, server == nil ? .max : nextCheck) }

    /// No descriptor was free. While that is so, a waiting connection would wake the loop again and again. Returns
    /// whether that is news.
    mutating func rest(_ time: TimeSource) -> Bool {
        let now = time.nanoseconds()
        defer { (restsUntil, lastRest) = (now + Self.restNanoseconds, now) }
        return lastRest.map { now - $0 >= Self.newsNanoseconds } ?? true
    }

    mutating func endRest(_ time: TimeSource) -> Bool {
        guard let until = restsUntil, time.nanoseconds() >= until else { return false }
        restsUntil = nil
        return true
    }

    /// Looks after the files if it is time. Returns a new socket if that of the old one is gone.
    mutating func check(_ time: TimeSource, _ report: (String) -> Void) -> Descriptor? {
        guard let server else { return nil }
        let now = time.nanoseconds()
        guard now >= nextCheck else { return nil }
        nextCheck = now + ServerSocket.checkNanoseconds
        keepJournalLock()
        return server.check(report)
    }
}
