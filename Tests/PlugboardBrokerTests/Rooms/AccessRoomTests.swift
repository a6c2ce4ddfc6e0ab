// The room of rights and quotas, with sessions and without a hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of rights and quotas", .computing)
struct AccessRoomTests {
    private static let nobody = AccountNumbers(user: { UInt32($0) }, group: { _ in nil })

    /// A room whose broker belongs to user 1, and one client of user 7.
    private final class Rooms {
        var access = Access(owner: 1)
        var sessions = SessionTable()
        let session: SessionHandle

        init(policy: String? = nil) throws {
            let peer = PeerIdentity(process: 0, user: 7)
            session = sessions.insert(Session(client: 1, slot: 0, peer: peer))
            guard let policy else { return }
            access.follow(try PolicyReader.policy(in: Array(policy.utf8), AccessRoomTests.nobody), since: 3)
            let rights = access.rights(of: peer, [], name: nil)
            sessions[session].clearance = rights.map { Clearance(groups: [], rights: $0) }
            access.openAccount(of: sessions[session])
        }

        var account: UserAccount? { sessions[session].clearance?.account }

        /// The first thing that doesn't hold, if the accounts should agree with `use`.
        func broken(_ use: (UserAccount) -> Void) -> BrokenInvariant? {
            var found = FoundUse()
            found.add(to: account, use)
            var living = Living()
            living.sessions.insert(session)
            do throws(BrokenInvariant) {
                try access.checkInvariants(found, living)
                return nil
            } catch {
                return error
            }
        }
    }

    private static let policy = """
        {"rules":[{"user":"7","allow":{"subscribe":["cart.**"],"publish":["cart.items"]}}],
        "quotas":[{"user":"7","connections":1,"subscriptions":2,"keys":1,"kept":100}]}
        """

    @Test("without a policy, only the broker's user and root may connect, and nothing is counted")
    func noPolicy() throws {
        let rooms = try Rooms()
        let admitted = [0, 1, 7].map { rooms.access.admits(PeerIdentity(process: 1, user: $0), []) }
        #expect(admitted == [true, true, false])
        #expect(!rooms.access.counts && rooms.account == nil && rooms.access.hasRoom(for: 7))
        let hasStood = rooms.access.hasStood(since: 0)
        #expect(hasStood)
    }

    @Test("a policy's rules say what a client may do, from a revision on")
    func rights() throws {
        let rooms = try Rooms(policy: Self.policy)
        let (session, items) = (rooms.session, Array("cart.items".utf8))
        let mayWrite = rooms.sessions[session].authorize(.publish, items.span)
        let maySee = rooms.sessions[session].authorize(.subscribe, Array("cart.total".utf8).span)
        let mayWriteOther = rooms.sessions[session].authorize(.publish, Array("cart.total".utf8).span)
        #expect(mayWrite && maySee && !mayWriteOther)
        #expect(rooms.access.hasStood(since: 3) && !rooms.access.hasStood(since: 2))
    }

    @Test("each quota: as much as it allows, and one more")
    func quotas() throws {
        let rooms = try Rooms(policy: Self.policy)
        let account = try #require(rooms.account)
        #expect(!rooms.access.hasRoom(for: 7) && rooms.access.hasRoom(for: 8))
        try Access.checkSubscriptions(of: rooms.sessions[rooms.session], patterns: 2)
        #expect(throws: Refusal.self) {
            try Access.checkSubscriptions(of: rooms.sessions[rooms.session], patterns: 3)
        }
        try rooms.access.checkQuota(account, keys: 1, bytes: 100)
        #expect(throws: Refusal.self) { try rooms.access.checkQuota(account, keys: 2, bytes: 0) }
        #expect(throws: Refusal.self) { try rooms.access.checkQuota(account, keys: 0, bytes: 101) }
        try rooms.access.replaceWill(of: rooms.sessions[rooms.session], 0, by: 100)
        #expect(throws: Refusal.self) {
            try rooms.access.replaceWill(of: rooms.sessions[rooms.session], 100, by: 201)
        }
        #expect(account.kept == 100)
        #expect(rooms.broken { ($0.connections, $0.kept) = (1, 100) } == nil)
        #expect(rooms.broken { ($0.connections, $0.kept) = (1, 99) } != nil)
    }

    @Test("the writes of a batch count while it is checked, and not afterwards")
    func planning() throws {
        let rooms = try Rooms(policy: Self.policy)
        let account = try #require(rooms.account)
        rooms.access.beginPlanning(for: rooms.sessions[rooms.session])
        try rooms.access.checkQuota(account, keys: 1, bytes: 60)
        #expect(throws: Refusal.self) { try rooms.access.checkQuota(account, keys: 0, bytes: 41) }
        #expect(rooms.broken { $0.connections = 1 } != nil)
        rooms.access.endPlanning()
        try rooms.access.checkQuota(account, keys: 1, bytes: 100)
        #expect(rooms.broken { $0.connections = 1 } == nil)
    }
}
