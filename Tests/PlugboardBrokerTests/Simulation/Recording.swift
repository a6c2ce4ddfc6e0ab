// A whole run: everything that was asked and told, and all writes. The checks read it.

import PlugboardPosix

/// The record of a run.
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
