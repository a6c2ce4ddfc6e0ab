// `new`: makes the folder of a plugin that runs.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let inSwift = CommandOption(flag: "swift", "in Swift: a package of its own, with a test")
    static let inPython = CommandOption(flag: "python", "in Python, with a copy of plugboard.py")
    static let inShell = CommandOption(flag: "sh", "a shell script (the default)")
    static let package = CommandOption(
        "package",
        "PLACE",
        "--swift: the folder or the address of Plugboard's package; by default where this program was built, or what its packager has named"
    )
}

extension Command {
    static let new = Command(
        name: "new",
        group: .make,
        summary: "make the folder of a new plugin that runs",
        parameters: [CommandParameter("NAME", "the plugin's name, and that of its folder")],
        options: [.inShell, .inPython, .inSwift, .package],
        details: """
            Makes a folder in the current one, with a program and a plugin.json. plugboard up --plugins . \
            starts it at once. It greets: publish people.ada 1, and it publishes greetings.ada. Change it \
            from there. A NAME has letters, digits, - and _, and begins with a letter. What is there \
            already is left alone, with status 1.

            The program of a plugin in Swift is a script that builds the package if needed; the first \
            build takes minutes. swift test tests it.
            """,
        examples: ["new greeter", "new greeter --python", "new greeter --swift --package ~/plugboard"],
        run: run
    )

    private static let nameBytesMax = 64

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let name = try name(invocation.arguments[0])
        let language = try language(invocation)
        var template = PluginTemplate(name: name, language: language)
        var library: String?
        if language == .swift { template.package = try package(invocation) }
        if language == .python { library = try pythonLibrary() }
        guard FileStatus(path: name).kind == .missing else {
            throw CommandError(.refused, "\(name) is there already")
        }
        for file in template.files { try file.write(in: name) }
        if let library { try FileCopy.make(of: library, at: "\(name)/\(PythonLibrary.fileName)") }
        try console.output.line("made: \(name)/ with \(template.files.map(\.path).joined(separator: ", "))")
        if template.package == unknownPackage {
            console.say(
                "in \(name)/Package.swift, put the folder of Plugboard's sources, or their address, in place of \(unknownPackage)"
            )
        }
        console.say("start it: \(Program.spelling) up --plugins .")
    }

    private static func name(_ text: String) throws(CommandError) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isPlain, text.first?.isLetter == true, text.utf8.count <= nameBytesMax else {
            throw .usage(
                "\"\(text)\" is no name: letters, digits, - and _, at most \(nameBytesMax), a letter first"
            )
        }
        guard text != SupervisorClient.name else {
            throw .usage("\"\(text)\" is no name: that is plugboard up itself")
        }
        return text
    }

    private static func language(_ invocation: Invocation) throws(CommandError) -> PluginLanguage {
        let options: [(CommandOption, PluginLanguage)] = [
            (.inShell, .sh), (.inPython, .python), (.inSwift, .swift),
        ]
        let chosen = options.filter { invocation.has($0.0) }.map(\.1)
        guard chosen.count <= 1 else { throw .usage("--sh, --python and --swift don't go together") }
        let language = chosen.first ?? .sh
        guard language == .swift || !invocation.has(.package) else {
            throw .usage("--package goes with --swift")
        }
        return language
    }

    private static func pythonLibrary() throws -> String {
        if let path = PythonLibrary.path(for: try ownProgram()) { return path }
        throw CommandError(
            .refused,
            "\(PythonLibrary.fileName) isn't beside this program",
            hints: ["it is in the folder protocol/python of Plugboard's sources"]
        )
    }

    /// Stands where a person has to put the place of the package.
    private static let unknownPackage = "/path/to/plugboard"

    /// Where the libraries are: as the command line says, or the checkout in which this program was built, or
    /// the address that its packager has named.
    private static func package(_ invocation: Invocation) throws -> String {
        if let place = invocation.text(.package) {
            guard !place.contains("://"), !place.hasPrefix("git@") else { return place }
            guard let path = ProgramPath.resolved(place),
                FileStatus(path: path + "/Package.swift").kind == .file
            else { throw CommandError.usage("--package \(place): there is no Package.swift") }
            return path
        }
        var folder = SocketPath.folder(of: try ownProgram())
        while folder.count > 1 {
            if FileStatus(path: folder + "/Package.swift").kind == .file { return folder }
            folder = SocketPath.folder(of: folder)
        }
        return BuildCommit.address ?? unknownPackage
    }
}
