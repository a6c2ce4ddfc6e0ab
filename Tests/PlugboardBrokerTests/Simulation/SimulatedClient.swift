// One client of a simulated broker. It asks for random things, sends and reads in pieces, stops reading
// for a while, vanishes and comes back, and remembers everything.

import PlugboardPosix
import TestSupport

/// A client. The world owns it.
final class SimulatedClient {
    let name: String
    let user: UInt32
    unowned let world: SimulatedWorld
    let chance: Chance
    let habits: Habits
    private var link: SimulatedLink?
    private var outgoing = SimulatedPipe()
    private var half: [UInt8] = []
    private(set) var conversations: [Conversation] = []
    private var wishes = WishMaker()
    /// Requests that have no reply yet.
    private var open: Set<Int> = []
    private var wishesLeft: Int
    /// For how many turns it doesn't read.
    private var stalled = 0
    /// Whether it has sent its last byte but still reads.
    private var isHalfClosed = false
    /// Whether it has said goodbye and waits for the end.
    private var isLeaving = false
    /// The offset of the next line in the bytes that this connection was sent.
    private var place = 0
    private var attemptsLeft = 6

    init(name: String, user: UInt32, world: SimulatedWorld, wishes: Int, habits: Habits) {
        self.name = name
        self.user = user
        self.world = world
        chance = world.chance
        self.habits = habits
        wishesLeft = wishes
    }

    /// Makes this client the witness: it only observes, everything and all of it.
    func witness() {
        wishes.plan(SubscriptionPlan(sub: "witness", patterns: ["**"], isAll: true, hasWhen: true))
    }

    /// Whether it has got its snapshot.
    private(set) var hasBegun = false

    var isConnected: Bool { link != nil && !isHalfClosed && !isLeaving }

    /// Requests without an answer that could have been answered.
    var unanswered: [String] {
        guard link != nil, let last = conversations.last else { return [] }
        return open.sorted().map { "\(name) was never told about \(last.asked[$0].wish)" }
    }

    // MARK: Acting

    /// Does one thing. Returns false if there is nothing that it can do.
    func act() -> Bool {
        guard let link else { return connectIfWanted() }
        if stalled > 0 { stalled -= 1 }
        switch chance.below(4) {
        case 0: return read(link) || send(link) || ask(link)
        case 1: return send(link) || ask(link) || read(link)
        case 2: return ask(link) || read(link) || send(link)
        default: return vanish(link) || read(link) || send(link) || ask(link)
        }
    }

    private func connectIfWanted() -> Bool {
        guard wishesLeft > 0 || !wishes.forgone.isEmpty, world.isServing else { return false }
        link = world.network.connect(room: habits.room, user: user)
        conversations.append(Conversation(client: name, life: world.life, user: user))
        (outgoing, half, open, isHalfClosed, isLeaving, place) = (SimulatedPipe(), [], [], false, false, 0)
        ask(.hello)
        for plan in wishes.takeForgone() { ask(.subscribe(plan)) }
        return true
    }

    private func send(_ link: SimulatedLink) -> Bool {
        guard !outgoing.isEmpty, !link.isHalfClosed else { return false }
        link.toBroker += outgoing.take(chance.part(of: outgoing.count))
        return true
    }

    private func ask(_ link: SimulatedLink) -> Bool {
        guard wishesLeft > 0, open.count < habits.window, stalled == 0, !isHalfClosed, !isLeaving else {
            return false
        }
        wishesLeft -= 1
        ask(wishes.next(of: name, chance, habits))
        if wishesLeft == 0, habits.mayVanish, !isLeaving, chance.isOne(in: 6) { halfClose(link) }
        if habits.mayStall, chance.isOne(in: 12) { stalled = 5 + chance.below(60) }
        return true
    }

    private func read(_ link: SimulatedLink) -> Bool {
        if stalled > 0 { return true }
        if link.toClient.isEmpty {
            guard link.isClosedByBroker else { return false }
            part()
            return true
        }
        half += link.toClient.take(chance.part(of: link.toClient.count))
        takeLines()
        return true
    }

    private func vanish(_ link: SimulatedLink) -> Bool {
        guard habits.mayVanish, chance.isOne(in: 60), world.isBusy else { return false }
        link.close()
        part()
        return true
    }

    /// Sends the rest and then no more.
    private func halfClose(_ link: SimulatedLink) {
        link.toBroker += outgoing.take(outgoing.count)
        link.isHalfClosed = true
        isHalfClosed = true
        conversations.last?.noteLeft(at: world.count())
    }

    private func part() {
        guard let conversation = conversations.last else { return }
        // When the broker stops, nothing ends with its connection.
        if !world.isStopping {
            conversation.ended = world.count()
            conversation.noteLeft(at: link?.closedAt ?? world.count())
        }
        let isByBroker = link?.isClosedByBroker ?? false
        conversation.lastPolicy = isByBroker ? world.policyPosted : world.lastPolicy
        let isTurnedAway = isByBroker && conversation.told.first?.name != "hello"
        link = nil
        wishes.forgo()
        if isTurnedAway, !world.policies.isEmpty { noteTurnedAway() }
    }

    /// A client that is turned away tries again a few times.
    private func noteTurnedAway() {
        attemptsLeft -= 1
        guard attemptsLeft <= 0 else { return }
        wishesLeft = 0
        wishes.giveUp()
    }

    /// Notes that the world has ended.
    func noteEnd() {
        if link != nil { conversations.last?.lastPolicy = world.lastPolicy }
    }

    /// Notes that a policy will be loaded that may send it away.
    func noteReload() {
        if link != nil { conversations.last?.noteLeft(at: world.count()) }
    }

    // MARK: What the world wants

    /// Reads again, and resumes everything that it has paused.
    func settle() {
        stalled = 0
        wishesLeft = 0
        guard isConnected else { return }
        for sub in wishes.paused { ask(.resume(sub)) }
        wishes.paused = []
    }

    /// Makes requests whose answers show that everything was told.
    func finish(reading keys: [String]) {
        guard isConnected else { return }
        ask(.sync)
        for key in keys { ask(.get(key: key)) }
    }

    // MARK: Lines

    private func ask(_ wish: Wish) {
        guard let conversation = conversations.last else { return }
        let id = conversation.asked.count
        var asked = Asked(wish: wish, begun: world.count())
        (asked.begunAt, asked.policy) = (world.nanoseconds, world.policyInForce)
        var options = ""
        if world.hasJournal, !wish.writes.isEmpty, chance.isOne(in: 8) {
            asked.isLate = true
            options = #","durable":true"#
        }
        if habits.hasOrigins, wish.mayHaveOrigin, id % 4 == 1 {
            asked.origin = "o\(id)@host"
            options += #","origin":"\#(asked.origin)""#
        }
        if case .call = wish { asked.isLate = true }
        if case .goodbye = wish {
            isLeaving = true
            conversation.noteLeft(at: asked.begun)
        }
        conversation.asked.append(asked)
        open.insert(id)
        var line = wish.line(id: id, options)
        if case .hello = wish { line = #"{"op":"hello","id":\#(id),"name":"\#(name)"}"# }
        if world.isShown { print("\(asked.begun) \(name) > \(line.prefix(160))") }
        outgoing += line.utf8
        outgoing += chance.isOne(in: 5) ? [0x0D, 0x0A] : [0x0A]
    }

    private func takeLines() {
        var start = 0
        while let end = half.lineFeed(from: start) {
            take(Array(half[start..<end]))
            place += end + 1 - start
            start = end + 1
        }
        half.removeFirst(start)
    }

    private func take(_ line: [UInt8]) {
        guard let conversation = conversations.last else { return }
        guard var told = Told(line, time: world.count()) else {
            return world.complain("\(name) was told \(String(decoding: line.prefix(200), as: UTF8.self))")
        }
        (told.at, told.policy) = (world.nanoseconds, link?.policy(at: place) ?? 0)
        world.note(told, to: name)
        conversation.told.append(told)
        if told.kind == .event {
            if told.name == "synced" { hasBegun = true }
            wishes.learn(told)
            guard isConnected else { return }
            if told.name == "call" {
                if let answer = wishes.response(to: told, chance) { ask(answer) }
            } else if let ack = wishes.acknowledgement(of: told, chance) {
                ask(ack)
            }
            return
        }
        guard let id = told.id, open.remove(id) != nil else {
            return world.complain("\(name) was answered what it had not asked: \(told.text)")
        }
        conversation.asked[id].ended = told.time
        conversation.asked[id].reply = told
        wishes.learn(told, of: conversation.asked[id].wish)
    }
}

/// The habits of a client.
struct Habits {
    let features: Features
    /// How many requests it sends before it has read the replies.
    var window = 1
    /// How many bytes fit between the broker and it.
    var room = 1_024
    var mayVanish = false
    var mayStall = false
    var hasWindows = false
    var hasPhases = false
    /// How many bytes its values have in addition.
    var padding = 0
    /// Whether some of its writes say who wrote them first.
    var hasOrigins = false

    /// Whether it does more than write, read and observe.
    var isVaried: Bool { features.hasCalls || features.hasFarewells }
}
