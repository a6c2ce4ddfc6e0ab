// Another user's broker, as the command meets it.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("another user's broker", .enabled(if: Stranger.isPossible), .someAtATime)
struct PeerTests {
    private static let greeting = #"{"event":"hello","broker":"plugboard","protocol":1,"epoch":"e"}"#
    private static let owner = Accounts.name(of: Stranger.user) ?? "\(Stranger.user)"

    @Test(
        "the command sends it nothing; the error names its user and how to trust it, with status 69",
        arguments: [
            ["publish", "secret.token", "1"], ["get", "a"], ["call", "a", "1"], ["subscribe", "**"],
        ]
    )
    func refused(words: [String]) throws {
        let folder = try TemporaryFolder()
        let stranger = try Stranger(saying: [Self.greeting])
        let finished = try Run(words + ["--socket", stranger.path], in: folder).finished()
        #expect(finished.end == .exited(69))
        #expect(
            finished.messages.contains("the broker at \(stranger.path) is another user's (\(Self.owner))")
        )
        #expect(finished.messages.contains("--peer \(Self.owner)"))
        #expect(try stranger.heard() == "")
    }

    @Test("PLUGBOARD_SOCKET doesn't make it trusted; --peer and PLUGBOARD_PEER do, by name or number")
    func allowed() throws {
        let folder = try TemporaryFolder()
        let answer = #"{"ok":"get","id":1,"key":"a","revision":3,"value":42,"by":"x","live":true}"#
        let ways: [(words: [String], variables: [String: String])] = [
            (["--peer", Self.owner], [:]), (["--peer", "\(Stranger.user)"], [:]),
            ([], ["PLUGBOARD_PEER": Self.owner]), ([], [:]),
        ]
        for way in ways {
            let stranger = try Stranger(saying: [Self.greeting, answer])
            let variables = way.variables.merging(["PLUGBOARD_SOCKET": stranger.path]) { $1 }
            let finished = try Run(["get", "a"] + way.words, in: folder, environment: variables).finished()
            let isTrusted = !(way.words.isEmpty && way.variables.isEmpty)
            #expect(finished.end == .exited(isTrusted ? 0 : 69), "\(way) \(finished.messages)")
            #expect(finished.output == (isTrusted ? "42\n" : ""))
            #expect(try stranger.heard().isEmpty == !isTrusted)
        }
    }

    @Test("a folder at the standard place that a stranger made first is not even used")
    func madeFirst() throws {
        let folder = try TemporaryFolder()
        SystemCalls.setMode(folder.path, 0o755)
        let place = "\(folder.path)/plugboard-\(getuid())"
        let stranger = try Stranger(at: "\(place)/bus.sock", saying: [Self.greeting])
        let variables = ["PLUGBOARD_SOCKET": "", "XDG_RUNTIME_DIR": "", "TMPDIR": folder.path]
        let words = ["publish", "secret.token", "1"]
        let finished = try Run(words, in: folder, environment: variables).finished()
        #expect(finished.end == .exited(69))
        #expect(finished.messages.contains("the folder \(place) belongs to another user (\(Self.owner))"))
        #expect(try stranger.heardUntilNow() == "")
    }

    @Test("a plugin's --peer says the same")
    func plugin() throws {
        let folder = try TemporaryFolder()
        let stranger = try Stranger(saying: [Self.greeting])
        let cart = try Run(program: Products.folder + "/cart", ["--socket", stranger.path], in: folder)
        let finished = try cart.finished()
        #expect(finished.end == .exited(69))
        #expect(finished.messages.contains("is another user's (\(Self.owner))"))
        #expect(try stranger.heard() == "")
    }
}

@Suite("--peer", .someAtATime)
struct PeerOptionTests {
    @Test("an unknown user is a usage error, in the option and in the variable")
    func unknown() throws {
        let folder = try TemporaryFolder()
        let option = try plugboard("keys", "--peer", "no such user", in: folder)
        #expect(option.end == .exited(64))
        #expect(option.messages.contains("--peer: there is no user \"no such user\""))
        let variable = try plugboard("keys", in: folder, environment: ["PLUGBOARD_PEER": "no such user"])
        #expect(variable.end == .exited(64))
        #expect(variable.messages.contains("PLUGBOARD_PEER: there is no user"))
    }

    @Test("the user's own broker at the standard place works as before, even if others may read its folder")
    func own() throws {
        let folder = try TemporaryFolder()
        let variables = ["PLUGBOARD_SOCKET": "", "XDG_RUNTIME_DIR": folder.path]
        let broker = try Run(["broker", "--ready", "--memory"], in: folder, environment: variables)
        try eventually("the broker listens") { broker.output == "ready\n" }
        #expect(try plugboard("publish", "a", "1", in: folder, environment: variables).end == .exited(0))
        SystemCalls.setMode(folder.path + "/plugboard", 0o755)
        #expect(try plugboard("get", "a", in: folder, environment: variables).output == "1\n")
        SystemCalls.setMode(folder.path + "/plugboard", 0o777)
        let open = try plugboard("get", "a", in: folder, environment: variables)
        #expect(open.end == .exited(69))
        #expect(open.messages.contains("other users may write to the folder \(folder.path)/plugboard"))
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
    }
}
