// The hand on a paused observer. Whoever wants to pause observers owns it and names it in their options. It
// doesn't keep them. Invariants: no lock is held while an observer is called; an observer that is added
// during a pause begins paused.

import Synchronization

/// Pauses observers, lets single changes through, and lets them go on: a debugger for notifications.
///
/// ```swift
/// let control = ObserverControl()
/// let steps = Notifier<String>()
/// let observation = steps.observe(options: ObserverOptions(control: control)) { print($0) }
/// control.pause()
/// for step in ["one", "two", "three"] { steps.send(step) }
/// print(control.owed, "wait")  // 3 wait
/// control.step()  // one
/// control.resume()  // two, three
/// observation.dispose()
/// ```
/// All functions may be called from any thread and from within a notification. An observer that has ended
/// isn't controlled any more, and what it was owed is forgotten; an observer ends with what it observes, too.
public final class ObserverControl: Sendable {
    private struct Member: Sendable {
        weak var gate: (any HeldGate)?
    }

    private let paused = Atomic(false)
    private let lost = Atomic(0)
    private let members = Mutex<(all: [Member], pruneAt: Int)>(([], 16))

    public init() {}

    public var isPaused: Bool { paused.load(ordering: .acquiring) }

    /// How many changes and events wait at present.
    public var owed: Int { gates.reduce(0) { $0 + $1.owed } }

    /// How many changes were folded and events dropped because there was no room; see
    /// ``ObserverOptions/waitingMax``.
    public var lagged: Int { lost.load(ordering: .relaxed) }

    /// Holds the observers until ``resume()``. A call that another thread has begun may still be running; no
    /// further call begins.
    ///
    /// - Returns: how many changes and events wait now.
    @discardableResult
    public func pause() -> Int {
        paused.store(true, ordering: .releasing)
        return owed
    }

    /// Lets the first `count` of those that wait now through to each observer. If fewer wait, no later ones
    /// take their place. Without a pause it does nothing.
    ///
    /// - Returns: how many waited before.
    @discardableResult
    public func step(_ count: Int = 1) -> Int {
        let gates = gates
        let owed = gates.reduce(0) { $0 + $1.owed }
        if isPaused, count > 0 {
            for gate in gates { gate.step(count) }
        }
        return owed
    }

    /// Ends the pause. What has waited comes at once, also if `every` isn't over.
    ///
    /// - Returns: how much that was.
    @discardableResult
    public func resume() -> Int {
        let gates = gates
        let owed = gates.reduce(0) { $0 + $1.owed }
        if paused.exchange(false, ordering: .acquiringAndReleasing) {
            for gate in gates { gate.goOn() }
        }
        return owed
    }

    func add(_ gate: any HeldGate) {
        members.withLock { members in
            if members.all.count >= members.pruneAt {
                members.all.removeAll { $0.gate == nil }
                members.pruneAt = max(16, members.all.count * 2)
            }
            members.all.append(Member(gate: gate))
        }
    }

    func noteLagged() { lost.add(1, ordering: .relaxed) }

    /// How many observers it knows, those that have ended and were not yet forgotten included.
    var memberCount: Int { members.withLock { $0.all.count } }

    private var gates: [any HeldGate] { members.withLock { $0.all.compactMap(\.gate) } }
}
