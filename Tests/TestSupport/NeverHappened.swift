// In a file of its own, because the fuzzer builds only files that don't import Testing.

/// Something didn't happen within a generous time.
public struct NeverHappened: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) {
        self.description = description
    }
}
