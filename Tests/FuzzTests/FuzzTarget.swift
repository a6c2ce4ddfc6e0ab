// What reads bytes of strangers, each with what must hold whatever the bytes are. The fuzzer
// and `swift test` call the same function; a broken rule ends the process.

/// One reader.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case framer, scanner, pattern, journal, policy

    /// Reads bytes, and traps where something doesn't hold.
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

/// Ends the process where something doesn't hold.
func hold(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError(what()) }
}

extension [UInt8] {
    /// What stands between line feeds, each in memory of its own.
    var lines: [[UInt8]] {
        split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
    }
}
