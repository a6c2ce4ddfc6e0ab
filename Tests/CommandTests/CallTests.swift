// `plugboard call` with a broker, and with a server that the test plays.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugboard call", .someAtATime)
struct CallTests {
    private let folder: TemporaryFolder
    private let broker: Run
    private let server: BrokerConnection

    init() throws {
        folder = try TemporaryFolder()
        broker = try startBroker(in: folder)
        server = try BrokerConnection(path: folder.socket)
        try server.expectGreeting()
        try server.send(Array("hello cart\nserve cart.*\n".utf8))
        _ = try server.nextLine()
        #expect(try server.nextLine().kind == .ok("serve"))
    }

    private func start(_ words: String...) throws -> Run {
        try Run(["call"] + words, in: folder)
    }

    /// The next call that the server gets.
    private func event() throws -> String {
        String(decoding: try server.nextLine().bytes, as: UTF8.self)
    }

    @Test("prints the server's value, byte for byte")
    func value() throws {
        let call = try start("cart.add", #"{"sku":"B1"}"#, "--name", "till", "--cause", "7")
        #expect(
            try event()
                == #"{"event":"call","call":"1","key":"cart.add","revision":0,"value":{"sku":"B1"},"by":"till","cause":7,"timeout":300000}"#
        )
        try server.send(Array("return 1 { \"items\": 1.0 }\n".utf8))
        let finished = try call.finished()
        #expect(finished.output == "{ \"items\": 1.0 }\n")
        #expect(finished.end == .exited(0))
        #expect(finished.messages.isEmpty)
    }

    @Test("needs no value, and prints the reply with --json")
    func reply() throws {
        let call = try start("cart.clear", "--json")
        #expect(
            try event()
                == ##"{"event":"call","call":"1","key":"cart.clear","revision":0,"by":"#2","timeout":300000}"##
        )
        try server.send(Array("return 1 null\n".utf8))
        let finished = try call.finished()
        #expect(
            finished.output == #"{"ok":"call","id":1,"key":"cart.clear","value":null,"by":"cart"}"# + "\n"
        )
        #expect(finished.end == .exited(0))
    }

    @Test("a server's error is printed in its words, with status 1")
    func failure() throws {
        let call = try start("cart.add", "1")
        _ = try event()
        let error = #"{"op":"return","call":"1","error":{"code":"sold_out","message":"none is left"}}"#
        try server.send(Array((error + "\n").utf8))
        let finished = try call.finished()
        #expect(finished.end == .exited(1))
        #expect(finished.output.isEmpty)
        #expect(finished.messages.contains("plugboard call: sold_out: none is left"))
    }

    @Test("without a server, or without an answer in time, the status is 1")
    func nobody() throws {
        let alone = try start("wishlist.add", "1").finished()
        #expect(alone.end == .exited(1))
        #expect(alone.messages.contains("no_provider"))
        let late = try start("cart.add", "--timeout", "0.01").finished()
        #expect(late.end == .exited(1))
        #expect(late.messages.contains("timeout: no answer came within 10 ms"))
    }

    @Test("an invalid key, a value that isn't JSON, and a timeout out of range are usage errors")
    func usage() throws {
        #expect(try start("cart.*").finished().end == .exited(64))
        #expect(try start("cart.add", "hello").finished().messages.contains(#"call cart.add '"hello"'"#))
        for seconds in ["0", "3600.1"] {
            #expect(try start("cart.add", "--timeout", seconds).finished().end == .exited(64))
        }
    }
}
