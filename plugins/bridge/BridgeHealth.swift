// Whether the bridge is up or apart, since when and why, and how far it is behind. The tasks of a session
// report here. The status on the bus is made from it, and each change is printed in plain words.

import PlugboardClient
import PlugboardPosix
import PlugboardWire
import Synchronization

final class BridgeHealth: Sendable {
    /// After so long without an answer from a working etcd, the bridge counts as apart.
    static let silenceMax = Duration.seconds(6)

    private static let notYet = "it hasn't reached etcd yet"

    private let state = Mutex(State())

    struct State: Sendable {
        var isUp = false
        /// Milliseconds since 1970.
        var since = WallClock.millisecondsSince1970()
        var why: String? = BridgeHealth.notYet
        var node: String?
        var isWatching = false
        /// Why the last question had no answer.
        var silence: String?
        var sendTrouble: String?
        /// Why there is no lease. Without a lease nothing is sent.
        var leaseTrouble: String?
        var watchTrouble: String?
        var refusals = RefusedKeys()
        var lagRevisions = 0
        var behindSince: ContinuousClock.Instant?
    }

    func say(_ text: String) { Console.say(text) }

    func tell(_ lost: LostWrite) {
        let who = [lost.winner.by, lost.winner.host].compactMap { $0 }.joined(separator: "@")
        Console.say("\(lost.key): \(who.isEmpty ? "somebody" : who) was faster; the lost write is kept")
    }

    /// Notes what became of changes of etcd, and says which keys it has refused.
    func note(_ steps: [(step: MirrorStep, change: EtcdChange)]) {
        let news = state.withLock { state in steps.compactMap { state.refusals.note($0.step, $0.change) } }
        for refusal in news { Console.say("\(refusal.key): left alone in etcd: \(refusal.why)") }
    }

    /// Etcd has these keys, and no others.
    func meet(_ range: [EtcdChange]) { state.withLock { $0.refusals.meet(range) } }

    func watching(on node: String) {
        state.withLock {
            $0.isWatching = true
            $0.node = node
            $0.watchTrouble = nil
        }
    }

    func watchEnded(_ reason: String) {
        state.withLock {
            $0.isWatching = false
            $0.watchTrouble = reason
        }
    }

    /// All that could be sent has been sent.
    func sent() { state.withLock { $0.sendTrouble = nil } }
    func cannotSend(_ error: EtcdError) { state.withLock { $0.sendTrouble = "\(error)" } }

    func hasLease() { state.withLock { $0.leaseTrouble = nil } }
    func cannotKeepLease(_ error: EtcdError) { state.withLock { $0.leaseTrouble = "\(error)" } }

    func noAnswer(_ error: EtcdError) { state.withLock { $0.silence = "\(error)" } }

    func behind(newest: Int, cursor: Int) {
        state.withLock { state in
            state.lagRevisions = max(0, newest - cursor)
            state.behindSince = newest > cursor ? state.behindSince ?? .now : nil
        }
    }

    /// Decides whether the bridge is up, and says so if that has changed.
    func judge(answered: ContinuousClock.Instant?) {
        let news: String? = state.withLock { state in
            let silence = answered.map { $0.duration(to: .now) } ?? .seconds(3_600)
            let why =
                silence > Self.silenceMax
                ? state.silence ?? state.watchTrouble
                    ?? (answered == nil ? Self.notYet : "etcd doesn't answer")
                : state.isWatching
                    ? state.sendTrouble ?? state.leaseTrouble
                    : state.watchTrouble ?? "the watch isn't open"
            let wasUp = state.isUp
            let isNews = (why == nil) != wasUp
            if isNews {
                state.isUp = why == nil
                state.since = WallClock.millisecondsSince1970()
            }
            let isOther = !state.isUp && state.why != why
            state.why = why
            guard isNews || isOther else { return nil }
            return why.map { "apart: \($0)" } ?? "up: in step with \(state.node ?? "etcd")"
        }
        if let news { Console.say(news) }
    }

    /// A session couldn't begin, or has ended. The next one has none of its troubles.
    func failed(_ reason: String) {
        state.withLock {
            $0.isWatching = false
            $0.watchTrouble = reason
            $0.sendTrouble = nil
            $0.leaseTrouble = nil
        }
    }

    var isUp: Bool { state.withLock { $0.isUp } }

    /// Tells it at `<name>.health`: the short form, for everybody who looks at the bus.
    func tell(_ bus: Bus, _ mirror: MirrorFigures) {
        let state = state.withLock { $0 }
        let counts = [
            "owed": mirror.owed ?? 0, "conflicts": mirror.counts.conflicts,
            "refused": mirror.counts.refused + state.refusals.count,
        ]
        if let why = state.why { return bus.health(.down, "apart from etcd: \(why)", counts: counts) }
        var news: [String] = []
        if let newest = state.refusals.newest.first {
            news.append(
                "\(state.refusals.presentCount) of etcd's keys left alone, such as \(newest.key): \(newest.why)"
            )
        }
        if let key = mirror.kept.first {
            news.append("\(mirror.kept.count) of this bus's keys not taken by etcd, such as \(key)")
        }
        bus.health(
            news.isEmpty ? .well : .degraded,
            news.isEmpty ? nil : news.joined(separator: "; "),
            counts: counts
        )
    }

    /// The value of `bridge.<name>.status`.
    func status(_ mirror: MirrorFigures, _ settings: BridgeSettings) -> JSON {
        let state = state.withLock { $0 }
        let lag = state.behindSince.map { Int($0.duration(to: .now) / .milliseconds(1)) } ?? 0
        var members: [(name: String, value: JSON)] = [
            ("state", .string(state.isUp ? "up" : "apart")), ("since", .string(UTCTime.text(state.since))),
        ]
        if let why = state.why { members.append(("why", .string(why))) }
        if let node = state.node { members.append(("etcd", .string(node))) }
        members += [
            ("host", .string(settings.host)), ("prefix", .string(settings.prefix.text)),
            ("patterns", .array(settings.sharing.all.map { .string($0) })),
            ("lag", .object(["revisions": .integer(state.lagRevisions), "milliseconds": .integer(lag)])),
            ("owed", mirror.owed.map { .integer($0) } ?? .null), ("sent", .integer(mirror.counts.sent)),
            ("applied", .integer(mirror.counts.applied)), ("conflicts", .integer(mirror.counts.conflicts)),
            ("refused", .integer(mirror.counts.refused + state.refusals.count)),
            ("folded", .integer(mirror.counts.folded)),
            ("unread", .integer(mirror.counts.unread)), ("split", .integer(mirror.counts.split)),
        ]
        if !state.refusals.isEmpty {
            members.append(("refusals", .array(state.refusals.newest.map(\.json))))
        }
        return .object(members)
    }
}

/// The mirror's part of the status. Counts continue from session to session.
struct MirrorFigures: Sendable, Equatable {
    /// Nil until etcd has been reached for the first time.
    var owed: Int?
    var counts = Mirror.Counts()
    /// The keys whose values etcd refused, as far as they are remembered.
    var kept: [String] = []
}
