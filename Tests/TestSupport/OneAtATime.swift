// Tests that wait by blocking their thread take turns, all over the package. Swift
// Testing runs tests on as many threads as there are processors: two that block would
// hold up every asynchronous test meanwhile, until it finds its own deadline passed.

import Testing

/// Lets only one of all tests with this trait run at a time; the others wait without a thread.
public struct OneAtATime: SuiteTrait, TestTrait, TestScoping {
    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Turns.shared.take()
        do {
            try await function()
        } catch {
            await Turns.shared.giveBack()
            throw error
        }
        await Turns.shared.giveBack()
    }
}

extension Trait where Self == OneAtATime {
    /// For tests that block their thread: see `OneAtATime`.
    public static var oneAtATime: OneAtATime { OneAtATime() }
}

/// Whose turn it is.
private actor Turns {
    static let shared = Turns()
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if !isTaken {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func giveBack() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}
