// A debug build checks its whole state about once a second, and stops if something doesn't hold. Going on
// would be worse, and the journal brings the state back.

#if DEBUG
    /// When the state is checked next.
    struct TurnCheck {
        /// The shortest time between two checks.
        private static let intervalNanoseconds: UInt64 = 1_000_000_000
        /// And so many times as long as the check took, because most of the time belongs to clients.
        private static let restFactor: UInt64 = 20
        private var next: UInt64 = 0

        func isDue(at now: UInt64) -> Bool { now >= next }

        mutating func rest(from start: UInt64, to end: UInt64) {
            next = end + max(Self.intervalNanoseconds, Self.restFactor * (end - start))
        }
    }

    extension EventLoop {
        /// Checks the state, if it is time.
        mutating func checkNowAndThen() {
            let start = time.nanoseconds()
            guard turnCheck.isDue(at: start) else { return }
            do throws(BrokenInvariant) {
                try checkInvariants()
            } catch {
                preconditionFailure("\(error)")
            }
            turnCheck.rest(from: start, to: time.nanoseconds())
        }
    }
#endif
