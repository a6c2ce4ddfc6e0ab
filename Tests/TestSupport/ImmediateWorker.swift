// Workers of a journal without threads: one does all work at once, the other when its test says so.

import PlugboardJournal

/// Does the work at once, on the caller's thread.
public final class ImmediateWorker: JournalWorker {
    private let store: any FileStore
    private var done: [WorkDone] = []

    public init(_ store: any FileStore) {
        self.store = store
    }

    public func add(_ work: JournalWork) {
        if let result = work.run(store) { done.append(result) }
    }

    public func takeDone() -> [WorkDone] {
        defer { done = [] }
        return done
    }

    public func wait(for kind: JournalWork.Kind) {}
}

/// Does the work, or some of it, when its test says so, or when somebody waits for it.
public final class LateWorker: JournalWorker {
    private let worker: ImmediateWorker
    private let isHeld: (JournalWork) -> Bool
    private var work: [JournalWork] = []
    /// Whether nothing is left to do.
    public var isDone: Bool { work.isEmpty }
    /// How often the loop waited for room.
    public private(set) var waits = 0
    /// How many snapshots were asked for.
    public private(set) var snapshots = 0

    /// Does at once what isn't held.
    public init(_ store: any FileStore, holding isHeld: @escaping (JournalWork) -> Bool = { _ in true }) {
        worker = ImmediateWorker(store)
        self.isHeld = isHeld
    }

    public func add(_ work: JournalWork) {
        if case .compact = work { snapshots += 1 }
        if isHeld(work) { self.work.append(work) } else { worker.add(work) }
    }

    public func takeDone() -> [WorkDone] { worker.takeDone() }

    public func wait(for kind: JournalWork.Kind) {
        guard work.contains(where: { $0.kind == kind }) else { return }
        if kind == .rooms { waits += 1 }
        finish()
    }

    public func finish() { while doNext() {} }

    /// Returns false if there is nothing to do.
    @discardableResult
    public func doNext() -> Bool {
        guard !work.isEmpty else { return false }
        worker.add(work.removeFirst())
        return true
    }
}
