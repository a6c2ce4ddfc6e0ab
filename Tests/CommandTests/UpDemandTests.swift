import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import plugboard

@Suite("up starts a plugin on demand", .someAtATime)
struct UpDemandTests {
    private let shop: Shop

    init() throws {
        shop = try Shop()
        try shop.add(
            "lamp",
            #"""
            echo x >> runs
            echo '{"op":"serve","id":1,"key":"lamp.set"}' >&$PLUGBOARD_FD
            echo 'publish lamp.hall "on"' >&$PLUGBOARD_FD
            while read -r line <&$PLUGBOARD_FD; do
                case $line in
                *'"event":"call"'*)
                    call=${line#*'"call":"'}
                    echo "return ${call%%\"*} \"done\"" >&$PLUGBOARD_FD ;;
                esac
            done
            """#,
            json: #","publishes":["lamp.*"],"serves":["lamp.set"],"start":"demand","idle":1"#
        )
    }

    private func state() throws -> String {
        let listed = try plugboard("plugins", in: shop.folder).lines.first { $0.hasPrefix("lamp ") } ?? ""
        return listed.split(separator: " ").dropFirst().first.map(String.init) ?? ""
    }

    @Test("for the first observer of its keys, and stops it when there has been none for a while")
    func observer() throws {
        let up = try shop.up()
        #expect(try state() == "idle")
        let person = try BrokerConnection(path: shop.folder.socket)
        try person.expectGreeting()
        _ = try person.accepted(ObjectWriter(op: "subscribe").adding("key", string: "lamp.*"))
        while try person.nextLine()["value"]?.string != "on" {}
        #expect(try state() == "running")
        try eventually("it is told") { up.messages.contains("lamp   | started: it is wanted") }
        _ = try person.accepted(ObjectWriter(op: "unsubscribe").adding("sub", 1))
        try eventually("it is stopped") { try state() == "idle" }
        try eventually("it is told") { up.messages.contains("lamp   | nobody wants it: stopping it") }
        #expect(shop.text("lamp", "runs") == "x\n")
        _ = try person.accepted(ObjectWriter(op: "subscribe").adding("key", string: "lamp.hall"))
        try eventually("it is there again") { try state() == "running" }
        try eventually("it has begun") { shop.text("lamp", "runs") == "x\nx\n" }
    }

    @Test("for a call, which waits until it is served")
    func caller() throws {
        let up = try shop.up()
        #expect(try plugboard("call", "lamp.set", in: shop.folder).output == "\"done\"\n")
        #expect(try plugboard("call", "lamp.set", in: shop.folder).output == "\"done\"\n")
        try eventually("it is stopped") { try state() == "idle" }
        #expect(shop.text("lamp", "runs") == "x\n")
        _ = up
    }

    @Test("but not if a user has stopped it, until a user starts it")
    func byHand() throws {
        let up = try shop.up()
        #expect(try plugboard("plugin", "stop", "lamp", in: shop.folder).output == "lamp is stopped\n")
        let refused = try plugboard("call", "lamp.set", in: shop.folder)
        #expect(refused.messages.contains("no_provider"))
        #expect(try plugboard("plugin", "start", "lamp", in: shop.folder).output.hasPrefix("lamp is running"))
        #expect(try plugboard("call", "lamp.set", in: shop.folder).output == "\"done\"\n")
        try eventually("it is stopped when nobody wants it") { try state() == "idle" }
        _ = up
    }

    @Test("and gives up one that ends whenever it is needed")
    func ends() throws {
        try shop.add("quick", "echo x >> runs", json: #","publishes":["quick"],"start":"demand""#)
        let up = try shop.up()
        let person = try BrokerConnection(path: shop.folder.socket)
        try person.expectGreeting()
        _ = try person.accepted(ObjectWriter(op: "subscribe").adding("key", string: "quick"))
        try eventually("it is broken") { up.messages.contains("quick  | is done; broken after 5 starts") }
        #expect(shop.text("quick", "runs").count == 10)
    }
}

@Suite("up starts a plugin again", .someAtATime)
struct UpRestartTests {
    @Test("and its callers wait for it: fifty restarts in a row, each with a call after it")
    func calls() throws {
        let shop = try Shop()
        let tests = SocketPath.folder(of: #filePath)
        let plugins = SocketPath.folder(of: SocketPath.folder(of: tests)) + "/plugins"
        let up = try shop.up("--memory", "--plugins", plugins, "cart")
        let person = try BrokerConnection(path: shop.folder.socket)
        try person.expectGreeting()
        _ = try person.accepted(
            ObjectWriter(op: "publish").adding("key", string: "catalog.brick")
                .adding("value", json: Array(#"{"title":"Brick","price":1}"#.utf8)[...])
        )
        let order = Array(#"{"sku":"brick"}"#.utf8)[...]
        for round in 1...50 {
            let restart = ObjectWriter(op: "call").adding("key", string: "plugins.restart")
            _ = try person.accepted(restart.adding("value", json: JSONText.encoded("cart")[...]))
            let call = ObjectWriter(op: "call").adding("key", string: "cart.add").adding("value", json: order)
            let line = try person.accepted(call)["value"]?.object
            #expect(line?["quantity"]?.integer == UInt64(round))
        }
        _ = up
    }
}
