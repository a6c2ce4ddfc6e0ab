// How tests share the machine. Swift Testing starts all of them at once, on as many threads
// as there are processors. Tests that block would delay every other one beyond its
// deadline, and hundreds of brokers at once leave none enough time.

import Testing

/// Tests with this trait run on threads of their own, and only so many at a time. The
/// others wait without a thread.
public struct Turns: SuiteTrait, TestTrait, TestScoping {
    public var isRecursive: Bool { true }
    fileprivate let isAlone: Bool

    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let places = isAlone ? Places.count : 1
        await Places.shared.take(places)
        do {
            try await withTaskExecutorPreference(OwnThreads.shared) { try await function() }
        } catch {
            await Places.shared.giveBack(places)
            throw error
        }
        await Places.shared.giveBack(places)
    }
}

extension Trait where Self == Turns {
    /// For tests that block their thread, or start programs, brokers or threads.
    public static var someAtATime: Turns { Turns(isAlone: false) }

    /// For tests that measure time or load, or concern the whole process. No test that takes turns
    /// runs beside them.
    public static var oneAtATime: Turns { Turns(isAlone: true) }
}

/// How many tests may run, and which wait, in the order in which they asked.
private actor Places {
    /// Most tests wait for something most of the time.
    static let count = 6
    static let shared = Places()
    private var free = count
    private var waiting: [(places: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func take(_ places: Int) async {
        if waiting.isEmpty, places <= free {
            free -= places
            return
        }
        await withCheckedContinuation { waiting.append((places, $0)) }
    }

    func giveBack(_ places: Int) {
        free += places
        while let first = waiting.first, first.places <= free {
            free -= first.places
            waiting.removeFirst().continuation.resume()
        }
    }
}
