import Foundation
import PlugboardPosix
import TestSupport
import Testing

// What every plugin does as a process, from its command line to its end.
@Suite("The life of each plugin", .someAtATime, .serialized, .timeLimit(.minutes(20)))
struct PluginLifeTests {
    /// The line that says that it waits for a broker.
    private func notice(_ plugin: ShopPlugin, _ shop: Shop) -> String {
        "\(plugin): waiting for a broker at \(shop.path)\n"
    }

    /// A shop whose broker hasn't started yet.
    private func openWithoutBroker() async throws -> Shop {
        let shop = try await Shop()
        shop.stopBroker()
        return shop
    }

    @Test("--help prints how it is used and exits with 0", arguments: ShopPlugin.allCases)
    func help(_ plugin: ShopPlugin) async throws {
        for word in ["--help", "-h"] {
            let process = try TestProgram(plugin.rawValue, [word], in: "/", output: .files)
            #expect(try await process.end() == 0)
            #expect(process.output.hasPrefix("\(plugin): "))
            #expect(process.output.contains("\n\nUsage: \(plugin) [OPTIONS]\n\nOptions\n  "))
            for option in ["-s, --socket PATH", "    --name NAME", "-h, --help"] {
                #expect(process.output.contains("\n  \(option) "), "\(option)")
            }
            #expect(process.errors == "")
        }
    }

    @Test("an unknown option ends it with 64 and a hint", arguments: ShopPlugin.allCases)
    func unknownOption(_ plugin: ShopPlugin) async throws {
        for (word, hint) in [
            ("--sokcet", #"did you mean "--socket"?"#), ("--nonsense", "--help lists the options"),
        ] {
            let process = try TestProgram(plugin.rawValue, [word, "/x"], in: "/", output: .files)
            #expect(try await process.end() == 64)
            #expect(process.errors == "\(plugin): there is no option \"\(word)\"; \(hint)\n")
            #expect(process.output == "")
        }
    }

    /// All at once, because each waits five seconds.
    @Test("without a broker it says what it waits for, then why it ends, with 69")
    func noBroker() async throws {
        let shop = try await openWithoutBroker()
        let processes = try ShopPlugin.allCases.map { ($0, try $0.start(in: shop)) }
        for (plugin, process) in processes {
            #expect(try await process.end() == 69, "\(plugin)")
            let reason = "connect \(shop.path): No such file or directory"
            let end = "\(plugin): no broker at \(shop.path): \(reason)\n"
            #expect(process.errors == notice(plugin, shop) + end)
            #expect(process.output == "")
        }
    }

    @Test(
        "SIGTERM and SIGINT end it with 0 while it works", arguments: ShopPlugin.allCases, [SIGTERM, SIGINT]
    )
    func stopping(_ plugin: ShopPlugin, _ signal: Int32) async throws {
        let shop = try await Shop()
        let process = try plugin.start(in: shop)
        try await plugin.work(process, in: shop, round: 1)
        #expect(try await process.stop(signal) == 0)
        #expect(process.errors == "")
    }

    @Test("SIGTERM and SIGINT end it with 0 while it waits for a broker")
    func stoppingWithoutBroker() async throws {
        let shop = try await openWithoutBroker()
        let processes = try ShopPlugin.allCases.flatMap { plugin in
            try [SIGTERM, SIGINT].map { (plugin, $0, try plugin.start(in: shop)) }
        }
        for (plugin, _, process) in processes {
            try await eventually("\(plugin) waits") { process.errors == notice(plugin, shop) }
        }
        for (plugin, signal, process) in processes {
            #expect(try await process.stop(signal) == 0, "\(plugin) at \(Signals.name(signal))")
            #expect(process.errors == notice(plugin, shop), "and has nothing more to say")
        }
    }

    @Test("it also ends if the peer at the socket doesn't answer")
    func stoppingWithSilentBroker() async throws {
        let shop = try await openWithoutBroker()
        let silent = try UnixSocket.listen(path: shop.path)
        let process = try ShopPlugin.cart.start(in: shop)
        try await eventually("it waits") { process.errors == notice(.cart, shop) }
        #expect(try await process.stop() == 0)
        _ = consume silent
    }

    @Test("a late broker is found, and the wait is reported once")
    func lateBroker() async throws {
        let shop = try await openWithoutBroker()
        let processes = try ShopPlugin.allCases.map { ($0, try $0.start(in: shop)) }
        for (plugin, process) in processes {
            try await eventually("\(plugin) waits") { process.errors == notice(plugin, shop) }
        }
        try await shop.restartBroker()
        for (plugin, process) in processes {
            try await plugin.work(process, in: shop, round: 1)
            #expect(try await process.stop() == 0)
            #expect(process.errors == notice(plugin, shop))
        }
    }

    @Test("a reader of its output that goes away does no harm", arguments: ShopPlugin.allCases)
    func readerGone(_ plugin: ShopPlugin) async throws {
        let shop = try await Shop()
        let process = try plugin.start(in: shop, output: .pipe)
        try await plugin.work(process, in: shop, round: 1)
        process.stopReading()
        try await expectWork(plugin, process, shop)
    }

    @Test("it also works without any standard output", arguments: ShopPlugin.allCases)
    func outputShut(_ plugin: ShopPlugin) async throws {
        let shop = try await Shop()
        let process = try plugin.start(in: shop, output: .shut)
        try await plugin.work(process, in: shop, round: 1)
        try await expectWork(plugin, process, shop)
        if plugin == .logger {
            let log = try String(contentsOfFile: shop.path + ".log", encoding: .utf8)
            let strays = log.split(separator: "\n").filter { !$0.hasPrefix(#"{"time":""#) }
            #expect(strays.isEmpty, "lines for people in the file")
        }
    }

    /// Two more rounds of work with some output, and an end without an error.
    private func expectWork(_ plugin: ShopPlugin, _ process: TestProgram, _ shop: Shop) async throws {
        for round in [2, 3] { try await plugin.work(process, in: shop, round: round) }
        if plugin == .reviewTracker {
            // It prints at its end.
            process.closeInput()
            #expect(try await process.end() == 0)
        } else {
            #expect(try await process.stop() == 0)
        }
        #expect(process.errors == "")
    }
}
