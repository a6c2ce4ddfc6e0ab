// What a session does now and then: asks etcd whether it works, writes a cursor that has moved, notices a
// silent watch, and compares the whole range.

import PlugboardClient

extension BridgeSession {
    private static let probeEvery = Duration.seconds(2)
    /// If nothing came on the watch for so long although etcd's revision has grown, the watch is opened
    /// again.
    private static let silenceMax = Duration.seconds(4)
    /// After so long, it is opened again even if the revision hasn't grown since the last time.
    private static let trustMax = Duration.seconds(30)

    /// When the watch was last opened again, and at which revision.
    private struct Reopening {
        var revision = 0
        var time = ContinuousClock.now
    }

    func tend() async throws {
        var reopening = Reopening()
        var compared = ContinuousClock.now
        while true {
            do {
                let fence = cursor.fence ?? 0
                let answer = try await store.findFence()
                guard answer.revision >= mirror.cursor, answer.fence >= fence else {
                    let reason = "etcd went back from revision \(mirror.cursor) to \(answer.revision)"
                    throw BridgeRestart.wentBack(reason: reason)
                }
                reopenIfSilent(answer.revision, &reopening)
                if compared.duration(to: .now) >= settings.compareEvery {
                    compared = .now
                    try await compare()
                }
            } catch let error as EtcdError {
                health.noAnswer(error)
            }
            for _ in 0..<4 {
                try await Task.sleep(for: Self.probeEvery / 4)
                try await flush()
            }
        }
    }

    /// Writes under other prefixes also raise the revision, so a silent watch isn't always lost.
    private func reopenIfSilent(_ revision: Int, _ last: inout Reopening) {
        guard let watch, watch.idle > Self.silenceMax else { return }
        let isOld = revision > last.revision || last.time.duration(to: .now) > Self.trustMax
        guard watch.isMute || isOld && revision > mirror.cursor else { return }
        last = Reopening(revision: revision)
        watch.close()
    }

    /// Compares every key's revision with the events of the watch. A difference is a lost event.
    private func compare() async throws {
        let fence = try await putFence()
        let range = try await store.range(at: fence, keysOnly: true)
        guard try await hasSeen(fence) else { return }
        health.meet(range.changes)
        let lost = mirror.differences(from: range.changes, at: fence)
        var changes: [EtcdChange] = []
        for var change in lost {
            if change.content != .delete {
                guard let present = try await store.change(of: change.key) else { continue }
                change = present
            }
            changes.append(change.found)
        }
        guard !changes.isEmpty else { return }
        health.say("\(changes.count) keys differed from etcd: the watch had lost their events")
        try await apply(found: changes)
    }

    private func hasSeen(_ revision: Int) async throws -> Bool {
        // The wait is short, because nobody asks etcd meanwhile whether it works.
        for _ in 0..<60 where mirror.cursor < revision { try await Task.sleep(for: .milliseconds(50)) }
        return mirror.cursor >= revision
    }
}

extension Mirror {
    /// Keys whose last event never came. `range` has all keys at a revision that the watch has passed.
    /// Deletes are complete; of the other changes only the revision counts.
    func differences(from range: [EtcdChange], at revision: Int) -> [EtcdChange] {
        var there: [String: EtcdChange] = [:]
        for change in range { there[change.key] = change }
        var lost = range.filter { change in
            !sharing.direction(of: change.key).isEmpty && keys[change.key]?.etcd ?? 0 < change.revision
        }
        for (key, state) in keys where state.etcd > 0 && state.etcd <= revision && there[key] == nil {
            lost.append(EtcdChange(key: key, revision: revision, content: .delete))
        }
        return lost
    }
}
