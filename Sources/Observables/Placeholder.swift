// Filled by the code of this layer.
