"""Where the layers of data are, which are imported when they are first asked for."""

from ..layer import category

_MODULES = {
    "encoding": "CategoryEncoding Discretization",
    "hashing": "HashedCrossing Hashing",
    "lookups": "IntegerLookup StringLookup",
    "pipeline": "Pipeline",
    "text_operation": "TextOperation",
    "text_vectorization": "TextVectorization",
    "images.contrast": "AutoContrast ContrastLimitedAdaptiveHistogramEqualization Equalization MaxNumBoundingBoxes",
    "images.sizes": "CenterCrop Resizing",
    "images.geometric": "RandomCrop RandomFlip RandomPerspective RandomRotation RandomShear RandomTranslation "
    "RandomZoom",
    "images.colors": "RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast RandomGaussianBlur "
    "RandomGrayscale RandomHue RandomInvert RandomPosterization RandomSaturation RandomSharpness Solarization",
    "images.mixing": "AugMix CutMix MixUp RandAugment RandomElasticTransform RandomErasing",
}

for _module, _names in _MODULES.items():
    category.later(f"{__package__}.{_module}", *_names.split())
