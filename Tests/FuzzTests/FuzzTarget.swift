// The code that reads bytes from outside, and what must hold for any bytes. The fuzzer and `swift test`
// call the same function. If something doesn't hold, the process ends.

/// One reader of bytes from outside.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case framer, scanner, pattern, journal, policy

    /// Reads bytes, and traps if a rule is broken.
    public func run(_ bytes: [UInt8]) {
        switch self {
        case .framer: FramerFuzz.run(bytes)
        case .scanner: ScannerFuzz.run(bytes)
        case .pattern: PatternFuzz.run(bytes)
        case .journal: JournalFuzz.run(bytes)
        case .policy: PolicyFuzz.run(bytes)
        }
    }
}

/// Ends the process if a condition doesn't hold.
func hold(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError(what()) }
}

extension [UInt8] {
    /// The pieces between line feeds, each in its own memory.
    var lines: [[UInt8]] {
        split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
    }
}
