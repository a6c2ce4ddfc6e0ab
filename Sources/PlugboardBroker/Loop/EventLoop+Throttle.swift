// While the disk is behind what clients write, each client may write its share of what the disk takes. Who writes
// more isn't read until it has waited for that. Who writes little is served at once.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix

extension EventLoop {
    /// Shares are counted in periods of this length.
    static var throttleNanoseconds: UInt64 { 5_000_000 }
    /// What each client may write in a period, however many there are.
    static var throttleBytesMin: Int { 1_024 }

    /// Counts what a client's lines brought to the journal.
    mutating func throttle(_ connection: Connection, _ bytes: Int, _ pressure: JournalPressure) {
        guard bytes > 0, !connection.isThrottled else { return }
        let now = time.nanoseconds()
        let share = share(of: pressure)
        guard connection.owes(bytes, share: share, period: Self.period(of: now)) else { return }
        connection.isThrottled = true
        if throttled.isEmpty { nextThrottle = now + Self.throttleNanoseconds }
        throttled.append(connection.token)
    }

    /// Goes on with those that have waited long enough, and with all when the disk isn't behind any more.
    mutating func goOnWithThrottled() throws {
        let now = time.nanoseconds()
        guard now >= nextThrottle else { return }
        nextThrottle = now + Self.throttleNanoseconds
        hub.durability.lookAtDisk()
        let share = hub.durability.pressure.map { self.share(of: $0) } ?? .max
        let count = throttled.count
        for place in 0..<count {
            let token = throttled[place]
            guard let connection = connections.find(token: token), connection.isThrottled else { continue }
            if connection.owes(0, share: share, period: Self.period(of: now)) {
                throttled.append(token)
            } else {
                connection.isThrottled = false
                try watch(connection)
                try noteSlow(connection)
            }
        }
        throttled.removeFirst(count)
    }

    private func share(of pressure: JournalPressure) -> Int {
        let all = pressure.bytesPerSecond / Int(1_000_000_000 / Self.throttleNanoseconds)
        return max(Self.throttleBytesMin, all / (throttled.count + 1))
    }

    private static func period(of nanoseconds: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: nanoseconds / throttleNanoseconds)
    }
}
