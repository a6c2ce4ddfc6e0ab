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
    /// Whether something was done that somebody waits for, since the results were taken.
    public private(set) var hasDone = false
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
        if isHeld(work) { return self.work.append(work) }
        worker.add(work)
        if work.kind == .readings { hasDone = true }
    }

    /// What takes long on a disk. To be read, removed and sent early is quick.
    public static func holdsSlowWork(_ work: JournalWork) -> Bool {
        switch work {
        case .read, .trim, .send: false
        default: true
        }
    }

    public func takeDone() -> [WorkDone] {
        hasDone = false
        return worker.takeDone()
    }

    public func wait(for kind: JournalWork.Kind) {
        guard work.contains(where: { $0.kind == kind }) else { return }
        if kind == .rooms { waits += 1 }
        while work.contains(where: { $0.kind == kind }) { doNext() }
    }

    public func finish() { while doNext() {} }

    /// Returns false if there is nothing to do.
    @discardableResult
    public func doNext() -> Bool {
        guard !work.isEmpty else { return false }
        worker.add(work.removeFirst())
        hasDone = true
        return true
    }
}
