// What reads bytes of strangers, each with what must hold whatever the bytes are. The fuzzer
// and `swift test` call the same function; a broken rule ends the process.

/// One reader.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case framer, scanner, pattern, journal, policy

    /// Reads bytes, and traps where something doesn't hold.
    public func run(_ bytes: UnsafeRawBufferPointer) {
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

extension UnsafeRawBufferPointer {
    /// A part of it.
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }

    /// What stands between line feeds.
    var lines: [UnsafeRawBufferPointer] {
        var found: [UnsafeRawBufferPointer] = []
        var start = 0
        for index in indices where self[index] == 0x0A {
            found.append(part(start..<index))
            start = index + 1
        }
        return found + [part(start..<count)]
    }
}
