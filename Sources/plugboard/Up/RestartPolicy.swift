// What to do about a child that ended: nothing, another start after a while, or no more starts
// because there were too many. Each child has a policy of its own. It reads no clock: callers pass
// in the time, so that tests need not wait.

/// Whether a child that ended is started again: `restart` in `plugin.json`.
enum RestartRule: String, CaseIterable, Sendable {
    case always
    /// Not if it ended with status 0.
    case onFailure = "on-failure"
    case never
}

/// When a plugin is started first: `start` in `plugin.json`.
enum StartRule: String, CaseIterable, Sendable {
    /// With `up`.
    case up
    /// When a client observes a key that it publishes, or calls a key that it serves.
    case demand
    /// When somebody asks for it: `plugboard plugins start`.
    case never
}

/// Decides from a child's starts whether it is started again.
struct RestartPolicy {
    /// If it ends after this many starts within the window, it isn't started again.
    static let startsMax = 5
    static let windowSeconds = 10.0

    enum Decision: Equatable {
        /// Don't start it again: it is done.
        case finished
        /// Start it again after this many seconds.
        case again(seconds: Double)
        /// Don't start it again: it crashes too often.
        case broken
    }

    var rule: RestartRule
    private var backoff = RestartDelay()
    /// The times of the last starts, at most `startsMax`.
    private var starts: [UInt64] = []

    init(_ rule: RestartRule) {
        self.rule = rule
    }

    /// Notes that the child was started at this time of the monotonic clock.
    mutating func started(atNanoseconds now: UInt64) {
        if starts.count == Self.startsMax { starts.removeFirst() }
        starts.append(now)
    }

    /// Decides what to do about a child that ended. `succeeded` means with status 0. `chance` is a random
    /// number from 0 up to, not including, 1.
    mutating func ended(succeeded: Bool, atNanoseconds now: UInt64, chance: Double) -> Decision {
        switch rule {
        case .never: return .finished
        case .onFailure where succeeded: return .finished
        case .onFailure, .always: break
        }
        let lived = Self.seconds(from: starts.last ?? now, to: now)
        let delay = backoff.delay(afterLivingSeconds: lived, chance: chance)
        return isTooOften(now) ? .broken : .again(seconds: delay)
    }

    /// Forgets earlier starts, because a person starts it.
    mutating func forget() {
        backoff = RestartDelay()
        starts = []
    }

    private func isTooOften(_ now: UInt64) -> Bool {
        guard starts.count == Self.startsMax, let first = starts.first else { return false }
        return Self.seconds(from: first, to: now) < Self.windowSeconds
    }

    private static func seconds(from start: UInt64, to end: UInt64) -> Double {
        end > start ? Double(end - start) / 1e9 : 0
    }
}
