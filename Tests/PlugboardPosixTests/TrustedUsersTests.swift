// Whose broker a client connects to, and whose it leaves alone.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardPosix

@Suite("whose broker is believed", .someAtATime)
struct TrustedUsersTests {
    private func naming(_ peer: String?, _ variable: String? = nil) throws(UnknownUser) -> TrustedUsers {
        try TrustedUsers(naming: peer) { $0 == "PLUGBOARD_PEER" ? variable : nil }
    }

    @Test("the own user's and root's, and one more if it is named, by name or by number")
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

    @Test("whom the accounts don't have is no user", arguments: ["no such user", "-1", "4294967295", "1.5"])
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
            #expect(chmod(folder.path, mode) == 0)
            #expect(fault(path) == .openFolder(folder.path))
            // Where a person named it, only the peer counts: such as a socket in /tmp.
            try TrustedUsers.own.check(folderOf: path, isOwnPlace: false)
        }
        #expect(chmod(folder.path, 0o755) == 0)
        #expect(fault(path) == nil)
        #expect(symlink(folder.path, folder("link")) == 0)
        #expect(fault(folder("link") + "/bus.sock") == .noFolder(folder("link")))
        #expect(fault(folder("none") + "/bus.sock") == nil)
        // Somebody else looks at the same folder.
        let other = TrustedUsers(own: Accounts.ownUser + 1)
        if Accounts.ownUser != 0 { #expect(fault(path, other) == .folderOfAnother(folder.path)) }
        #expect(fault(path, TrustedUsers(own: Accounts.ownUser + 1, allowed: Accounts.ownUser)) == nil)
    }

    @Test("a stranger's folder is refused by whose it is", .enabled(if: Stranger.isPossible))
    func strangersFolder() throws {
        let folder = try TemporaryFolder()
        #expect(chown(folder.path, Stranger.user, Stranger.user) == 0)
        let error = #expect(throws: UntrustedBroker.self) {
            try TrustedUsers.own.check(folderOf: folder("bus.sock"), isOwnPlace: true)
        }
        #expect(error?.fault == .folderOfAnother(folder.path))
        #expect(error?.owner == Accounts.name(of: Stranger.user))
        let allowing = TrustedUsers(allowed: Stranger.user)
        try allowing.check(folderOf: folder("bus.sock"), isOwnPlace: true)
    }

    @Test(
        "a stranger's broker gets nothing, one that is allowed is connected to",
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
            _ = Array("hello\n".utf8).withUnsafeBytes { connection.write($0) }
        }
        #expect(try friend.heard() == "hello\n")
    }
}
