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
        var lagRevisions = 0
        var behindSince: ContinuousClock.Instant?
    }

    func say(_ text: String) { Console.say(text) }

    func tell(_ lost: LostWrite) {
        let who = [lost.winner.by, lost.winner.host].compactMap { $0 }.joined(separator: "@")
        Console.say("\(lost.key): \(who.isEmpty ? "somebody" : who) was faster; the lost write is kept")
    }

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

    /// A session couldn't begin.
    func failed(_ reason: String) {
        state.withLock {
            $0.isWatching = false
            $0.watchTrouble = reason
        }
    }

    var isUp: Bool { state.withLock { $0.isUp } }

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
            ("refused", .integer(mirror.counts.refused)), ("folded", .integer(mirror.counts.folded)),
            ("unread", .integer(mirror.counts.unread)), ("split", .integer(mirror.counts.split)),
        ]
        return .object(members)
    }
}

/// The mirror's part of the status. Counts continue from session to session.
struct MirrorFigures: Sendable, Equatable {
    /// Nil until etcd has been reached for the first time.
    var owed: Int?
    var counts = Mirror.Counts()
}
