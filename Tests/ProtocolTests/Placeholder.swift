// Filled by the tests of this layer.
