import TestSupport
import Testing

@testable import plugboard_bench

@Suite("Options", .someAtATime)
struct OptionsTests {
    private func names(_ wanted: String...) throws -> [String] {
        var options = BenchOptions()
        options.growths = Growths.all
        try options.keepOnly(wanted)
        return options.workloads.map(\.name) + options.growths.map(\.name)
    }

    @Test("a complete name selects that row, a part of a name all rows with it")
    func only() throws {
        #expect(try names("1→1") == ["1→1"])
        #expect(try names("publish") == ["publish"])
        #expect(try names("round-trip-1") == ["round-trip-1"])
        #expect(try names("pattern").count == 4)
        #expect(
            try names("growth")
                == ["growth-keys", "growth-keys-shuffled", "growth-connections", "growth-observers"]
        )
        #expect(try names("growth-keys") == ["growth-keys"])
        #expect(try names("start", "idle") == ["idle-connection", "start"])
    }

    @Test("-> stands for the arrow, which keyboards don't have")
    func arrow() throws {
        #expect(try names("1->10") == ["1→10"])
    }

    @Test("a name that no row has is refused as it was typed")
    func unknown() {
        #expect(throws: BenchError.unknownWorkload("2->2")) { try names("start", "2->2") }
    }

    @Test("without --growth its series have no names")
    func noGrowth() {
        var options = BenchOptions()
        #expect(throws: BenchError.unknownWorkload("growth")) { try options.keepOnly(["growth"]) }
    }

    @Test("--batch applies to all rows with batches")
    func batch() {
        var options = BenchOptions()
        options.setBatch(7)
        #expect(options.workloads.filter { $0.measure == .rate }.allSatisfy { $0.batch == 7 })
        #expect(options.workloads.filter { $0.measure == .roundTrip }.allSatisfy { $0.batch == 1 })
    }

    @Test(
        "an unknown option or an invalid value is a usage error that names it",
        arguments: [
            ("--peer", "bench has no option \"--peer\"; did you mean \"--peers\"?"),
            ("--frobnicate", "bench has no option \"--frobnicate\"; try: plugboard help bench"),
            ("publish", "\"publish\" is one argument too many; usage: plugboard bench [OPTIONS]"),
            ("--json=1", "--json takes no value"), ("--only", "--only needs a value: --only NAMES"),
            ("--only=", "--only is empty; it was \"\""),
            ("--runs=0", "--runs is a whole number from 1 to 1000; it was \"0\""),
            ("--batch=10001", "--batch is a whole number from 1 to 10000; it was \"10001\""),
            ("--seconds=-1", "--seconds is a number of seconds up to 31536000, such as 2.5; it was \"-1\""),
            ("--json --json", "--json stands twice"),
        ]
    )
    func mistakes(words: String, message: String) {
        let refusal = #expect(throws: BenchRefusal.self) {
            try BenchProgram.parse(words.split(separator: " ").map(String.init))
        }
        #expect(refusal?.status == 64 && refusal?.lines.joined(separator: "; ") == message)
    }

    @Test("an option's value comes after a space or an equals sign")
    func values() throws {
        let words = try BenchProgram.parse(["--runs", "3", "--only=a=b", "-h", "--seconds", "0.5"])
        #expect(words.integer(.runs) == 3 && words.text(.only) == "a=b" && words.seconds(.seconds) == 0.5)
        #expect(words.has(.help) && !words.has(.json))
    }

    @Test("the help has each option, in 80 columns, and examples that are accepted")
    func help() throws {
        let syntax = BenchProgram.syntax
        for option in syntax.options { #expect(syntax.help.contains("\n  \(option.listed)  ")) }
        for line in syntax.help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        for example in syntax.examples {
            let words = example.split(separator: " ").map { $0.filter { $0 != "'" } }
            #expect(try words.first == "bench" && !BenchProgram.parse(Array(words.dropFirst())).has(.help))
        }
    }

    @Test("each row is measured at least five times by default")
    func runs() {
        #expect(BenchOptions().runs >= 5)
    }

    @Test("names of rows and series are unique")
    func unique() {
        let names = Workloads.usual.map(\.name) + Growths.all.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test("every workload that the goals and the comparison need exists")
    func complete() {
        let all = Workloads.usual
        for observers in [0, 1, 10, 100, 1000] {
            #expect(all.contains { $0.measure == .rate && $0.publishers == 1 && $0.observers == observers })
        }
        for bytes in [16, 128, 1024, 16_384] {
            #expect(all.contains { $0.valueBytes == bytes && $0.observers == 0 })
            #expect(all.contains { $0.valueBytes == bytes && $0.observers == 100 })
        }
        #expect(all.contains { $0.publishers == 8 && $0.observers == 1 })
        #expect(all.contains { $0.keys == 100_000 && $0.observers == 0 })
        #expect(all.contains { $0.keys == 100_000 && $0.observers == 1 && $0.interest == .keys })
        for matching in [1, 10] {
            #expect(all.contains { $0.interest == .patterns(1000, matching: matching) })
        }
        #expect(all.contains { $0.interest == .patterns(500, matching: 500) })
        for option in ["values", "old", "delivery", "every", "where", "fields", "diff"] {
            #expect(all.contains { $0.subscribing.hasPrefix("\"\(option)\":") }, "\(option)")
        }
        for member in ["while", "ttl", "cause"] {
            #expect(all.contains { $0.writing.hasPrefix("\"\(member)\":") }, "\(member)")
        }
        #expect(all.contains { $0.operation == .call } && all.contains { $0.acknowledging != nil })
        #expect(all.contains { $0.bystander?.reads == false && $0.observers == 10 })
        #expect(all.contains { $0.measure == .roundTrip && $0.observers == 100 })
        #expect(all.contains { $0.measure == .idle(connections: 10_000) })
        #expect(all.contains { $0.measure == .keys && $0.keys == 300_000 && $0.valueBytes == 128 })
        #expect(all.contains { $0.measure == .startUp })
        for writers in [1, 16, 256] {
            #expect(all.contains { $0.keeping == .durable && $0.publishers == writers && $0.batch == 1 })
        }
        #expect(all.allSatisfy { !$0.isLoad || $0.keeping != .nothing })
        #expect(Workloads.inMemory.allSatisfy { !$0.isLoad || $0.keeping != .journal })
        #expect(all.count { $0.isSustained && $0.keeping == .journal } == 2)
        #expect(all.contains { $0.measure == .recovery && $0.keys == 1_000_000 })
        #expect(all.contains { $0.measure == .snapshot && $0.keys == 1_000_000 })
    }

    @Test("series grow by powers of ten, as far as promised")
    func growth() {
        for growth in Growths.all {
            for (size, next) in zip(growth.sizes, growth.sizes.dropFirst()) { #expect(next == 10 * size) }
        }
        #expect(Growths.all[0].sizes.first == 10 && Growths.all[0].sizes.last == 1_000_000)
        #expect(Growths.all[2].sizes.first == 1 && Growths.all[2].sizes.last == 10_000)
        let connections = Growths.all[2].workload(10_000)
        #expect(connections.observers + connections.connectionsAtRest == 10_000)
    }
}
