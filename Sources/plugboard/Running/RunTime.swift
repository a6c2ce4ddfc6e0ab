// How long a command may run: nothing for ever, if somebody waits for it. It reads no clock: callers pass the
// time, in monotonic nanoseconds.

/// The time of one run.
struct RunTime {
    /// What is due for a run that takes long.
    enum Step {
        /// It has no limit, and a person should know that it still runs.
        case tell
        /// Its time is over. It is asked to end.
        case end
        /// It hasn't ended when it was asked to.
        case kill
    }

    /// After how many seconds a run without a limit is told of.
    static let longSeconds = 60.0
    /// How many seconds a run has to end when it is asked to.
    static let graceSeconds = 1.0

    /// How many seconds it may take; nil if there is no limit.
    let limit: Double?
    private let start: UInt64
    private var step: Step?

    init(limit: Double?, start: UInt64) {
        self.limit = limit
        self.start = start
        step = limit == nil ? .tell : .end
    }

    /// When the next step is due; nil if there is none.
    var due: UInt64? {
        switch step {
        case .tell: start + Self.nanoseconds(Self.longSeconds)
        case .end: start + Self.nanoseconds(limit ?? 0)
        case .kill: start + Self.nanoseconds((limit ?? 0) + Self.graceSeconds)
        case nil: nil
        }
    }

    /// Its time was over before it ended.
    var isOver: Bool { limit != nil && step != .end }

    /// The step that is due now, once.
    mutating func take(at now: UInt64) -> Step? {
        guard let due, now >= due else { return nil }
        defer { step = step == .end ? .kill : nil }
        return step
    }

    private static func nanoseconds(_ seconds: Double) -> UInt64 { UInt64(max(0, seconds) * 1e9) }
}
