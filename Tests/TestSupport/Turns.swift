// How tests share the machine. Swift Testing starts all of them at once, on as many threads as there are
// processors. Tests that block would delay all others beyond their deadlines, and hundreds of brokers at
// once would all be too slow.

import Testing

/// Tests with this trait run on threads of their own, and only a few at a time. The others wait without a
/// thread.
public struct Turns: SuiteTrait, TestTrait, TestScoping {
    public var isRecursive: Bool { true }
    fileprivate let kind: Kind

    /// What a test does most of its time.
    fileprivate enum Kind { case waiting, computing, alone }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Places.shared.take(kind)
        do {
            try await withTaskExecutorPreference(OwnThreads.shared) { try await function() }
        } catch {
            await Places.shared.giveBack(kind)
            throw error
        }
        await Places.shared.giveBack(kind)
    }
}

extension Trait where Self == Turns {
    /// For tests that block their thread, or start programs, brokers or threads.
    public static var someAtATime: Turns { Turns(kind: .waiting) }

    /// For tests that compute for a while and wait for nothing. They run beside those that wait, so
    /// that no processor is idle.
    public static var computing: Turns { Turns(kind: .computing) }

    /// For tests that measure time or load, or concern the whole process. No other test with a turn runs
    /// at the same time. They come last: if they came earlier, all others would have to stop for each of
    /// them and wait for the slowest.
    public static var oneAtATime: Turns { Turns(kind: .alone) }
}

/// Which tests run, and which wait for a place, in the order in which they asked.
private actor Places {
    static let shared = Places()
    private var running: [Turns.Kind: Int] = [:]
    private var waiting: [(kind: Turns.Kind, continuation: CheckedContinuation<Void, Never>)] = []

    func take(_ kind: Turns.Kind) async {
        if hasPlace(for: kind) {
            running[kind, default: 0] += 1
        } else {
            await withCheckedContinuation { waiting.append((kind, $0)) }
        }
    }

    func giveBack(_ kind: Turns.Kind) {
        running[kind, default: 0] -= 1
        for kind in [Turns.Kind.waiting, .computing, .alone] {
            while hasPlace(for: kind), let next = waiting.firstIndex(where: { $0.kind == kind }) {
                running[kind, default: 0] += 1
                waiting.remove(at: next).continuation.resume()
            }
        }
    }

    private func hasPlace(for kind: Turns.Kind) -> Bool {
        switch kind {
        // Tests of this kind wait for something most of the time.
        case .waiting: running[.alone, default: 0] == 0 && running[kind, default: 0] < 6
        case .computing: running[.alone, default: 0] == 0 && running[kind, default: 0] < 2
        case .alone: running.values.allSatisfy { $0 == 0 }
        }
    }
}
