// The processors on which a thread and its child processes may run: for measurements, and for threads that work side
// by side. If the scheduler moves two processes or threads together and apart, times have two values.
//
// Why its pointers are safe: each is to an array of `words` words, and the call is told their bytes.

#if os(Linux)
    import CPlatform

    /// Keeps the calling thread, and what it starts meanwhile, to some of its processors.
    public struct ProcessorPlace {
        /// Which of those that the thread may run on.
        public enum Choice: Sendable {
            case first
            case allButFirst
            /// All but one; see `current`.
            case allBut(Int32)
        }

        /// The processor on which the calling thread runs now.
        public static var current: Int32 { sched_getcpu() }

        private static let words = 16
        private let before: [UInt64]

        /// With only one processor this changes nothing. Throws `SystemError`.
        public init(_ choice: Choice) throws {
            var bits = [UInt64](repeating: 0, count: Self.words)
            guard unsafe sched_getaffinity_bits(0, Self.words * 8, &bits) >= 0 else {
                throw SystemError(code: errno, operation: "sched_getaffinity")
            }
            before = bits
            let count = bits.reduce(0) { $0 + $1.nonzeroBitCount }
            guard count > 1, let word = bits.firstIndex(where: { $0 != 0 }) else { return }
            let first = bits[word] & (~bits[word] &+ 1)
            switch choice {
            case .first:
                bits = [UInt64](repeating: 0, count: Self.words)
                bits[word] = first
            case .allButFirst: bits[word] &= ~first
            case .allBut(let number) where number >= 0 && number < Self.words * 64:
                bits[Int(number) / 64] &= ~(1 << UInt64(number % 64))
            case .allBut: return
            }
            guard unsafe sched_setaffinity_bits(0, Self.words * 8, bits) == 0 else {
                throw SystemError(code: errno, operation: "sched_setaffinity")
            }
        }

        /// The thread may run again on its earlier processors.
        public func leave() {
            _ = unsafe sched_setaffinity_bits(0, Self.words * 8, before)
        }
    }
#endif
