import Testing

@testable import PlugboardClient

@Suite("A plugin's command line")
struct PluginArgumentsTests {
    private let file = PluginOption.text("file", "PATH", "where to write")
    private let keep = PluginOption.integer("keep", "N", 1...9, "how many")
    private let rate = PluginOption.number("rate", "N", 0.5...100, "how fast")
    private let quiet = PluginOption.flag("quiet", "say nothing")

    private func parse(
        _ words: String..., environment: [String: String] = [:]
    ) throws(PluginUsageError) -> PluginArguments {
        try PluginArguments(parsing: words, name: "logger", options: [file, keep, rate, quiet]) {
            environment[$0]
        }
    }

    @Test("values come after a space or an equals sign")
    func values() throws {
        let arguments = try parse("--file", "a=b", "--keep=3", "--rate", "2.5", "--quiet")
        #expect(arguments.text(file) == "a=b")
        #expect(arguments.integer(keep) == 3)
        #expect(arguments.number(rate) == 2.5)
        #expect(arguments.has(quiet))
        #expect(try parse().text(file) == nil)
        #expect(try !parse().has(quiet))
    }

    @Test("the name is the option's, or else the environment's, or else the plugin's own")
    func names() throws {
        let environment = ["PLUGBOARD_NAME": "second"]
        #expect(try parse().name == "logger")
        #expect(try parse(environment: environment).name == "second")
        #expect(try parse("--name", "third", environment: environment).name == "third")
        #expect(try parse(environment: ["PLUGBOARD_NAME": ""]).name == "logger")
        #expect(try parse("--socket", "/x").socket == "/x")
        #expect(try parse("--peer", "root").peer == "root")
        #expect(try parse().peer == nil)
    }

    @Test(
        "a mistake is named, with what was probably meant",
        arguments: [
            (["--fiel", "x"], "did you mean \"--file\"?"), (["--wrong"], "no option \"--wrong\""),
            (["file"], "takes no argument \"file\""), (["--file"], "needs a value: --file PATH"),
            (["--file", ""], "--file is empty"), (["--keep", "0"], "from 1 to 9"),
            (["--keep", "10"], "from 1 to 9"),
            (["--keep", "3.5"], "from 1 to 9"), (["--keep", "99999999999999999999"], "from 1 to 9"),
            (["--rate", "nan"], "from 0.5 to 100.0"), (["--rate", "inf"], "from 0.5 to 100.0"),
            (["--quiet=yes"], "takes no value"),
            (["--peer", "no such user"], "--peer: there is no user \"no such user\""),
            (["--quiet", "--quiet"], "stands twice"),
        ]
    )
    func mistakes(_ words: [String], _ message: String) {
        let error = #expect(throws: PluginUsageError.self) {
            try PluginArguments(parsing: words, name: "logger", options: [file, keep, rate, quiet]) { _ in nil
            }
        }
        #expect(error?.message.contains(message) == true)
    }

    @Test("the help has each option with its line")
    func help() {
        let lines = PluginArguments.helpText("logger", "writes\n\nMore.", [file, quiet])
        #expect(lines.prefix(4) == ["logger: writes", "", "More.", ""])
        #expect(lines.contains("      --file PATH    where to write"))
        #expect(lines.contains("      --quiet        say nothing"))
        #expect(lines.contains { $0.hasPrefix("  -s, --socket PATH") })
    }
}
