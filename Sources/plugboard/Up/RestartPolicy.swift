// What to do about a child that ended: nothing, another start after a while, or no more starts
// because there were too many. Each child has a policy of its own. It reads no clock: callers pass
// in the time, so that tests need not wait.

/// Whether a child that ended is started again, as `plugin.json` says it.
enum RestartRule: String, CaseIterable, Sendable {
    case always
    /// Not if it ended with status 0.
    case onFailure = "on-failure"
    case never
}

/// When a plugin is started first, as `plugin.json` says it.
enum StartRule: String, CaseIterable, Sendable {
    /// With `up`.
    case up
    /// When somebody observes what it publishes, or calls what it serves.
    case demand
}

/// One child's starts, and what follows from them.
struct RestartPolicy {
    /// After this many starts within the window, it isn't restarted any more.
    static let startsMax = 5
    static let windowSeconds = 10.0

    enum Decision: Equatable {
        /// It stays as it is.
        case finished
        /// Start it again after this many seconds.
        case again(seconds: Double)
        /// Don't start it again: it crashes too often.
        case broken
    }

    var rule: RestartRule
    private var backoff = RestartDelay()
    /// The newest ones, at most `startsMax`.
    private var starts: [UInt64] = []

    init(_ rule: RestartRule) {
        self.rule = rule
    }

    /// It was started at that moment of the monotonic clock.
    mutating func started(atNanoseconds now: UInt64) {
        if starts.count == Self.startsMax { starts.removeFirst() }
        starts.append(now)
    }

    /// It ended; `succeeded`: with status 0. `chance` is from 0 up to, not including, 1.
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

    /// Somebody starts it by hand: earlier starts don't count.
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
