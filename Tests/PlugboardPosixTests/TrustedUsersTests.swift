// Which users' brokers a client connects to.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardPosix

@Suite("which brokers are trusted", .someAtATime)
struct TrustedUsersTests {
    private func naming(_ peer: String?, _ variable: String? = nil) throws(UnknownUser) -> TrustedUsers {
        try TrustedUsers(naming: peer) { $0 == "PLUGBOARD_PEER" ? variable : nil }
    }

    @Test("the user's own and root's, and one more that is named by name or number")
    func users() throws {
        let own = TrustedUsers(own: 1_000)
        #expect(own.contains(1_000) && own.contains(0))
        #expect(!own.contains(1_001) && !own.contains(PeerIdentity.unknown.user))
        #expect(TrustedUsers(own: 1_000, allowed: 1_001).contains(1_001))
        #expect(try !naming(nil).contains(4_711))
        #expect(try naming("4711").contains(4_711))
        #expect(try naming(nil, "4711").contains(4_711))
        #expect(try naming("4712", "4711") == TrustedUsers(allowed: 4_712))
        #expect(try naming("root") == TrustedUsers(allowed: 0))
        #expect(try naming(nil, "") == .own)
    }

    @Test("an unknown name or number is no user", arguments: ["no such user", "-1", "4294967295", "1.5"])
    func unknown(name: String) {
        #expect(throws: UnknownUser(name: name)) { try naming(name) }
        #expect(throws: UnknownUser(name: name)) { try naming(nil, name) }
    }

    @Test("the folder of the standard place is the user's own, and others can't write to it")
    func folders() throws {
        let folder = try TemporaryFolder()
        let path = folder("bus.sock")
        func fault(_ path: String, _ users: TrustedUsers = .own) -> UntrustedBroker.Fault? {
            do throws(UntrustedBroker) {
                try users.check(folderOf: path, isOwnPlace: true)
                return nil
            } catch {
                return error.fault
            }
        }
        #expect(fault(path) == nil)
        for mode: mode_t in [0o720, 0o702, 0o1777] {
            #expect(SystemCalls.setMode(folder.path, mode))
            #expect(fault(path) == .openFolder(folder.path))
            // If a person named the path, such as a socket in /tmp, only the peer counts.
            try TrustedUsers.own.check(folderOf: path, isOwnPlace: false)
        }
        #expect(SystemCalls.setMode(folder.path, 0o755))
        #expect(fault(path) == nil)
        #expect(SystemCalls.makeLink(folder("link"), to: folder.path))
        #expect(fault(folder("link") + "/bus.sock") == .noFolder(folder("link")))
        #expect(fault(folder("none") + "/bus.sock") == nil)
        // Another user looks at the same folder.
        let other = TrustedUsers(own: Accounts.ownUser + 1)
        if Accounts.ownUser != 0 { #expect(fault(path, other) == .folderOfAnother(folder.path)) }
        #expect(fault(path, TrustedUsers(own: Accounts.ownUser + 1, allowed: Accounts.ownUser)) == nil)
    }

    @Test("a stranger's folder is refused because of its owner", .enabled(if: Stranger.isPossible))
    func strangersFolder() throws {
        let folder = try TemporaryFolder()
        #expect(SystemCalls.giveAway(folder.path, to: Stranger.user, group: Stranger.user))
        let error = #expect(throws: UntrustedBroker.self) {
            try TrustedUsers.own.check(folderOf: folder("bus.sock"), isOwnPlace: true)
        }
        #expect(error?.fault == .folderOfAnother(folder.path))
        #expect(error?.owner == Accounts.name(of: Stranger.user))
        let allowing = TrustedUsers(allowed: Stranger.user)
        try allowing.check(folderOf: folder("bus.sock"), isOwnPlace: true)
    }

    @Test(
        "a stranger's broker gets nothing, and a trusted one is connected to",
        .enabled(if: Stranger.isPossible)
    )
    func strangersBroker() throws {
        let stranger = try Stranger()
        let error = #expect(throws: UntrustedBroker.self) { _ = try UnixSocket.connect(path: stranger.path) }
        #expect(error?.fault == .brokerOfAnother)
        #expect(try stranger.heard() == "")
        let friend = try Stranger()
        let users = TrustedUsers(allowed: Stranger.user)
        do {
            let connection = try UnixSocket.connect(path: friend.path, trusting: users)
            let hello = Array("hello\n".utf8)
            _ = connection.write(hello.span)
        }
        #expect(try friend.heard() == "hello\n")
    }
}
