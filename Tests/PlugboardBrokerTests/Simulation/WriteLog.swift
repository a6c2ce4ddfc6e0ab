// All writes of a run in the order of their revisions, with which everything else is compared. They are
// taken from the journal, or from a witness that was told of everything.

import PlugboardPosix
import TestSupport

/// One write of one key.
struct Write: Equatable {
    var revision: UInt64
    var key: String
    /// The value; nil for a delete.
    var value: String?
    var by: String
    var reason = ""
    var origin = ""
    /// When it was made, as events tell it.
    var when = ""

    init(key: String, value: String?, by: String, reason: String) {
        (revision, self.key, self.value, self.by, self.reason) = (0, key, value, by, reason)
    }

    init(_ told: Told) {
        revision = told.revision ?? 0
        key = told.key
        value = told.name == "update" ? told.value : nil
        by = told.by
        reason = told.reason
        origin = told.origin
        when = told.when
    }
}

/// All writes, and those of each key. Places of a key's writes count from 1.
struct WriteLog {
    private(set) var writes: [Write]
    private(set) var keys: [String: [Write]] = [:]

    init(_ writes: [Write]) {
        self.writes = writes
        for write in writes { keys[write.key, default: []].append(write) }
    }

    /// The writes that a witness was told of as they happened.
    init(seenBy conversation: Conversation) {
        self.init(conversation.told.filter { ["update", "delete"].contains($0.name) }.map(Write.init))
    }

    /// The writes in the segments of a journal, oldest first.
    init(journal segments: [[UInt8]]) {
        var writes: [Write] = []
        for segment in segments {
            for line in segment.lines { writes += Self.writes(in: line) }
        }
        self.init(writes)
    }

    private static func writes(in line: [UInt8]) -> [Write] {
        guard let told = Told(line, time: 0) else { return [] }
        switch told.name {
        case "update", "delete": return [Write(told)]
        case "batch":
            let events = (try? JSONNode(line))?["events"]?.elements ?? []
            return events.compactMap {
                guard let event = Told($0.bytes, time: 0) else { return nil }
                var write = Write(event)
                write.when = told.when
                return write
            }
        default: return []
        }
    }

    /// How many writes of a key there were up to a revision.
    func count(of key: String, upTo revision: UInt64) -> Int {
        guard let writes = keys[key] else { return 0 }
        var (low, high) = (0, writes.count)
        while low < high {
            let middle = (low + high) / 2
            if writes[middle].revision <= revision { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The place of a key's write; nil if no write of the key has this revision.
    func place(of key: String, at revision: UInt64) -> Int? {
        let count = count(of: key, upTo: revision)
        guard count > 0, keys[key]?[count - 1].revision == revision else { return nil }
        return count
    }

    /// A key's write by its place, from 1; nil before the first.
    func write(of key: String, _ place: Int) -> Write? {
        guard place > 0, let writes = keys[key], place <= writes.count else { return nil }
        return writes[place - 1]
    }

    /// Whether a key has no value after its write at `place`.
    func isAbsent(_ key: String, after place: Int) -> Bool {
        write(of: key, place)?.value == nil
    }

    /// Replaces the writes, to test the checks.
    mutating func replace(_ writes: [Write]) {
        self = WriteLog(writes)
    }
}

/// A whole run: everything that was asked and told, and all writes. The checks read it.
struct Recording {
    let seed: UInt64
    private(set) var conversations: [Conversation]
    var log: WriteLog
    let terms: OrderCheck.Terms
    /// What went wrong during the run.
    let complaints: [String]
    let fingerprint: Fingerprint
    /// How often the broker was started.
    let lives: Int

    /// Plays a seed.
    init(seed: UInt64, isShown: Bool = false, isFailing: Bool = false) {
        let world = SimulatedWorld(seed: seed, isFailing: isFailing)
        world.isShown = isShown
        world.play()
        self.seed = seed
        conversations = world.clients.flatMap(\.conversations)
        log = world.log()
        terms = OrderCheck.Terms(
            hasPhases: world.scenario.hasPhases,
            isHeavy: world.scenario.isHeavy,
            isHurried: world.scenario.features.hasShortTurns,
            restedAt: world.restedAt,
            lastLife: world.life,
            isDiskFailing: isFailing,
            policies: world.policies
        )
        complaints = world.complaints
        fingerprint = world.fingerprint
        lives = world.life
    }

    /// A copy to make mistakes in.
    func copy() -> Recording {
        var copy = self
        copy.conversations = conversations.map { $0.copy() }
        return copy
    }

    /// All complaints of the checks.
    func check() -> [String] { checks.flatMap { $0() } }

    /// Each check by itself, so that whoever looks for one complaint needs no more of them.
    var checks: [() -> [String]] {
        [
            { complaints },
            { KeyCheck(conversations, log, terms).complaints },
            { OrderCheck.complaints(conversations, log, terms) },
            { CallCheck(conversations, terms).complaints },
            { CloseReasonCheck(conversations, log, terms).complaints },
            { PolicyCheck(conversations, log, terms).complaints },
        ]
    }

    /// How many requests were answered.
    var answered: Int { conversations.reduce(0) { $0 + $1.asked.count { $0.reply != nil } } }

    /// Whether events of a subscription may have to wait for something else than room.
    func waits(_ sub: String, _ conversation: Conversation) -> Bool {
        conversation.asked.contains { asked in
            switch asked.wish {
            case .subscribe(let plan): plan.sub == sub && (plan.every > 0 || plan.since != nil)
            case .pause(let paused): paused == sub
            default: false
            }
        }
    }

    /// Whether an event may rightly be owed when a reply comes: something waits on its connection, and
    /// the key is written again.
    func mayBeOwed(_ event: Told, in conversation: Conversation) -> Bool {
        guard event.revision != log.keys[event.key]?.last?.revision else { return false }
        return terms.isHeavy || terms.isHurried
            || conversation.asked.contains { asked in
                switch asked.wish {
                case .subscribe(let plan): plan.since != nil
                case .pause, .resume: true
                default: false
                }
            }
    }

    /// Whether an observer needn't have been told that a key is gone, or left: it had not been told of it.
    func isUnknown(_ event: Told, in conversation: Conversation) -> Bool {
        !conversation.told.contains { $0.sub == event.sub && $0.key == event.key && $0.name == "update" }
    }

    /// Whether no policy ever hid a key from a client. Otherwise nobody can say what the client had to be
    /// told.
    func isAlwaysSeen(_ key: String, by conversation: Conversation) -> Bool {
        terms.policies.verdict(conversation.user, 0, conversation.lastPolicy) { $0.may(.subscribe, key) }
            == .always
    }
}
