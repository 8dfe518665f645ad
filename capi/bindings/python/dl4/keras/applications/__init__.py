"""Architectures for images: `keras.applications.ResNet50(weights=None)`; each module has preprocess_input() too."""

from ..src.later import names_later as _names_later

__getattr__, __dir__ = _names_later(
    __package__,
    globals(),
    {
        ".convnext": "convnext",
        ".densenet": "densenet",
        ".efficientnet": "efficientnet",
        ".efficientnet_v2": "efficientnet_v2",
        ".inception_resnet_v2": "inception_resnet_v2",
        ".inception_v3": "inception_v3",
        ".mobilenet": "mobilenet",
        ".mobilenet_v2": "mobilenet_v2",
        ".mobilenet_v3": "mobilenet_v3",
        ".nasnet": "nasnet",
        ".resnet": "resnet",
        ".resnet50": "resnet50",
        ".resnet_v2": "resnet_v2",
        ".vgg16": "vgg16",
        ".vgg19": "vgg19",
        ".xception": "xception",
        ".imagenet_utils": "imagenet_utils",
        "..src.applications.convnext": "ConvNeXtBase ConvNeXtLarge ConvNeXtSmall ConvNeXtTiny ConvNeXtXLarge",
        "..src.applications.densenet": "DenseNet121 DenseNet169 DenseNet201",
        "..src.applications.efficientnet": "EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 "
        "EfficientNetB4 EfficientNetB5 EfficientNetB6 EfficientNetB7 EfficientNetV2B0 EfficientNetV2B1 "
        "EfficientNetV2B2 EfficientNetV2B3 EfficientNetV2S EfficientNetV2M EfficientNetV2L",
        "..src.applications.inception": "InceptionV3 InceptionResNetV2",
        "..src.applications.mobilenet": "MobileNet MobileNetV2",
        "..src.applications.mobilenet_v3": "MobileNetV3Large MobileNetV3Small",
        "..src.applications.nasnet": "NASNetLarge NASNetMobile",
        "..src.applications.resnet": "ResNet50 ResNet101 ResNet152 ResNet50V2 ResNet101V2 ResNet152V2",
        "..src.applications.vgg": "VGG16 VGG19",
        "..src.applications.xception": "Xception",
    },
)
